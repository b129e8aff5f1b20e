"""Other libraries' folders, in and out."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from regard.core.errors import ConfigError, UserError
from regard.core.files import read_json
from regard.interop.loading import load, precision, read_folder
from regard.interop.pixels import write_pixels
from regard.interop.special import tokenizer_file
from regard.models import Model, ViT
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
    def tokenizer(self) -> Tokenizer | None: ...

    @property
    def extra(self) -> Mapping[str, Any]: ...

    @property
    def task(self) -> Any: ...


def export_huggingface(run: Exportable, out: Path) -> str:
    """Write a run as a Hugging Face folder; returns the class of `transformers` that loads it."""
    from regard.interop import huggingface

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: already exists; choose a new folder")
    settings = vars(run.task) if run.task is not None else {}
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
    with tokenizer_file(run.path, run.tokenizer) as tokenizer:
        huggingface.write(run.config, model, out, tokenizer, extra)
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
