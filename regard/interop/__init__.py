"""Other libraries' folders, in and out."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from regard.core.errors import ConfigError, UserError
from regard.core.files import read_json
from regard.interop.chat import read_chat_template
from regard.interop.folder import FLOATS, has_file
from regard.interop.generation import read_generation
from regard.interop.hub import locate
from regard.interop.peft import CONFIG as ADAPTER
from regard.interop.peft import read_adapter
from regard.interop.pixels import read_pixels, write_pixels
from regard.interop.tokenizer import read_tokenizer
from regard.models import GPT, Model, ViT
from regard.store import CONFIG, TOKENIZER
from regard.store.loaded import Loaded, load_model
from regard.text import Tokenizer

__all__ = ["Exportable", "export_huggingface", "load", "precision", "read_folder"]


@runtime_checkable
class Exportable(Protocol):
    """A loaded run, as far as an export needs it; its task may have labels, a length, and a way to read images."""

    @property
    def path(self) -> Path: ...

    @property
    def config(self) -> Model: ...

    @property
    def model(self) -> nn.Module: ...

    @property
    def extra(self) -> Mapping[str, Any]: ...

    @property
    def task(self) -> Any: ...


def load(path: str | Path) -> Loaded:
    """A model with its weights, from a run folder or a Hugging Face folder."""
    path = Path(path)
    return load_model(path) if (path / CONFIG).exists() else read_folder(path)


def read_folder(path: Path, dtype: str | torch.dtype | None = None) -> Loaded:
    """The model of another library's folder, or of that name in the Hugging Face cache; of a PEFT folder, its base
    model with the adapter.

    `dtype` is the precision of the weights in memory: None for float32, "auto" for that of the file.
    """
    path, adapter = locate(path), None
    if has_file(path, ADAPTER) and not has_file(path, "config.json"):
        path, adapter = locate(Path(read_adapter(path).base)), path
    if has_file(path, "config.json"):
        from regard.interop import huggingface

        imported = huggingface.read(path, precision(dtype), adapter)
        tokenizer, lacking = _tokenizer(path, imported.config)
        pixels = {"pixels": read_pixels(path, imported.config)} if isinstance(imported.config, ViT) else {}
        writes = _of_writing(path) if isinstance(imported.config, GPT) else {}
        extra = {**imported.extra, **lacking, **pixels, **writes}
        return Loaded(path, imported.config, imported.model, tokenizer, extra)
    if not path.is_dir():
        raise UserError(f"{path}: {'is a file, and no' if path.exists() else 'there is no such'} folder")
    raise UserError(f"{path}: is neither a run folder ({CONFIG}) nor a Hugging Face folder (config.json)")


def _of_writing(path: Path) -> dict[str, Any]:
    """How its makers sample, and how its chats are written, where the folder says."""
    return {"sampling": read_generation(path), "chat": read_chat_template(path)}


def precision(dtype: str | torch.dtype | None) -> torch.dtype | None:
    """The dtype of that name; None for "auto", as stored."""
    if dtype == "auto":
        return None
    wanted = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype or torch.float32
    if wanted not in FLOATS:
        names = ", ".join(str(kind).removeprefix("torch.") for kind in FLOATS)
        raise ConfigError(f"dtype: must be auto, {names}, not {dtype}")
    return wanted


def _tokenizer(path: Path, config: Model) -> tuple[Tokenizer | None, dict[str, str]]:
    """Their tokenizer, or what is lacking of it: without one the model still runs on tokens."""
    if isinstance(config, ViT):
        return None, {}
    try:
        return read_tokenizer(path, config), {}
    except UserError as error:
        return None, {"no_tokenizer": str(error)}


def export_huggingface(run: Exportable, out: Path) -> str:
    """Write a run as a Hugging Face folder; returns the class of `transformers` that loads it."""
    from regard.interop import huggingface

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: already exists; choose a new folder")
    tokenizer, settings = run.path / TOKENIZER, vars(run.task) if run.task is not None else {}
    if settings.get("ngrams") is not None:
        command = "regard train classify --recipe portable"
        raise ConfigError(
            f"{run.path}: has an n-gram model beside the network, which no Hugging Face folder holds; "
            f"`{command}` makes one that can be written"
        )
    extra = dict(run.extra)
    if settings.get("labels"):
        extra["id2label"] = dict(enumerate(settings["labels"]))
    if "max_length" in settings:
        extra["longest"] = settings["max_length"]
    model = _calibrated(run.model, settings["mixture"].network) if "mixture" in settings else run.model
    huggingface.write(run.config, model, out, tokenizer if tokenizer.exists() else None, extra)
    if isinstance(run.config, ViT) and "mean" in settings:
        write_pixels(out, run.config, settings)
    return str(read_json(out / "config.json")["architectures"][0])


@torch.no_grad()
def _calibrated(model: nn.Module, scale: float) -> nn.Module:
    """The model with the temperature of its probabilities in the label layer."""
    model = deepcopy(model)
    for name, weight in model.named_parameters():
        if name.startswith("head.label."):
            weight.mul_(scale)
    return model
