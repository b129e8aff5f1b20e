"""Hugging Face folders in and out: config.json and weights become our own config and parts, and the other way round.

imported = read(Path("bert-base"))            # config, model, tokenizer, extra
write(imported.config, imported.model, Path("copy"), imported.tokenizer, imported.extra)
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from regard.core.errors import ConfigError, UserError
from regard.core.files import atomic_file, write_text
from regard.core.model import outline_of, unfilled
from regard.interop.families import FAMILIES, UNREADABLE
from regard.interop.family import Family
from regard.interop.folder import SINGLE, Weights, file_in, has_file, open_weights, read_json, shown
from regard.interop.guess import guess
from regard.interop.peft import read_adapter
from regard.interop.settings import LENGTH, TOKENS, Settings
from regard.interop.special import copy_tokenizer
from regard.interop.table import adopt, canonical, check, collect, fill, fitting
from regard.models import BERT, GPT, ClassifierHead, TokenClassifierHead, ViT
from regard.parts.norms import RMSNorm
from regard.parts.positions import Learned, Rotary

PACKED = ("quantization_config", "compression_config", "auto_map")  # packed weights, code of one's own
CHANGED = ("is_decoder", "add_cross_attention")  # an encoder made to write, a decoder made to look aside
UNWRITTEN = {  # settings for which the families that are written have no key
    "alternate_layers", "alternate_position", "bigram", "distinct_layers", "embed_norm", "embed_scale", "embed_width",
    "embedding_skip", "logit_bias", "logit_scale", "logit_softcap", "neighbours", "normed_input", "residual_scale",
}  # fmt: skip
CHECKED = {*PACKED, *CHANGED, "pruned_heads", "model_type", "architectures"}


@dataclass(frozen=True)
class Imported:
    config: Any  # one of our models' configs
    model: nn.Module
    tokenizer: Path | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # what the folder says beside: labels, special tokens, ...


@dataclass(frozen=True)
class Opened:
    """A folder whose weights are not read yet."""

    folder: Path
    file: Settings
    family: Family
    architecture: str
    weights: Weights  # under the names of the family's table
    plain: Weights  # the same without the adapter, if there is one
    config: Any

    @property
    def extra(self) -> dict[str, Any]:
        return _extra(self.file, self.family, self.architecture, self.config)

    @property
    def heads(self) -> dict[type, Any]:
        """The heads that the family has for an encoder, by their kinds."""
        if not isinstance(self.config, BERT):
            return {}
        heads = {}
        for architecture in self.family.architectures:
            file = Settings({**self.file.data, "id2label": {"0": "0", "1": "1"}}, self.file.where)
            with suppress(ConfigError):  # such as words to fill in, for an encoder that was never made for it
                head = self.family.config(file, self.weights, architecture).head
                heads[type(head)] = replace(head, labels=0) if hasattr(head, "labels") else head
        return heads


def read(folder: Path, dtype: torch.dtype | None = torch.float32, adapter: Path | None = None) -> Imported:
    """The model of a folder, ready to answer; `dtype` None: in the precision that its weights are stored in. With
    `adapter`, the folder of a LoRA adapter, which is added to the weights.

    Nothing is built before every shape is known to fit.
    """
    with open_model(folder, adapter) as opened:
        config, table = opened.config, opened.family.table(opened.config)
        shapes = outline_of(config).state_dict()
        rows = fitting(table, shapes)
        weights = adopt(opened.weights, table, rows)
        unused = check(folder, table, rows, shapes, weights)
        with default_dtype(dtype or weights.read(next(iter(rows)).theirs).dtype):
            model = unfilled(config).eval()
        fill(model, table, rows, weights)
    tokenizer = file_in(folder, "tokenizer.json") if has_file(folder, "tokenizer.json") else None
    return Imported(config, model, tokenizer, opened.extra | {"unused": unused})


@contextmanager
def open_model(folder: Path, adapter: Path | None = None, *, has_weights: bool = True) -> Iterator[Opened]:
    """The config of a folder, and its weights, to be read one by one; or the config alone."""
    where = str(folder / "config.json")
    file = Settings(_named(folder, read_json(folder, "config.json")), where)
    family, architecture = _family(file)
    file = Settings({**family.defaults, **file.data}, where)
    file.read_keys |= CHECKED
    with open_weights(folder) if has_weights else nullcontext(Weights({})) as stored:
        weights = stored.renamed(canonical(stored, family.prefix, family.heads, family.rename))
        plain = weights
        if adapter is not None:
            weights = read_adapter(adapter).merged(weights, adapter)
        yield Opened(folder, file, family, architecture, weights, plain, _config(file, family, weights, architecture))


def _named(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """The config of a folder; one that names no model is asked by its weights, where it has any."""
    if data.get("model_type") is not None or not data:
        return data
    with open_weights(folder) as stored:
        return guess(stored, {name: family.architectures for name, family in FAMILIES.items()}) | data


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """What is built meanwhile has this precision from the start, so that no copy in float32 is ever in memory."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def write(
    config: Any, model: nn.Module, folder: Path, tokenizer: Path | None = None, extra: Mapping[str, Any] | None = None
) -> None:
    """A folder that `transformers` loads. `extra` may name labels (`id2label`), special tokens, the `length` that the
    model can read and the `longest` that is read of a text."""
    try:
        family = _family_for(config)
        assert family.settings is not None
        settings = family.settings(config)
    except ConfigError as error:
        raise ConfigError(f"{error}{_how(config)}") from None
    data = {"architectures": [family.architectures[0]], "model_type": family.model_type} | settings
    ours = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    tensors = collect(fitting(family.table(config), ours), ours)
    data["dtype"] = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    data |= _description(config, family, extra or {})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if tokenizer is not None:
            lengths = [data.get(family.length or ""), (extra or {}).get("longest")]
            longest = min((length for length in lengths if length is not None), default=None)
            data = copy_tokenizer(tokenizer, folder, longest, framed=isinstance(config, BERT)) | data
        with atomic_file(folder / SINGLE) as temporary:
            save_file(tensors, temporary, metadata={"format": "pt"})
            temporary.chmod(0o644)  # the library makes files that only their owner may read
        write_text(folder / "config.json", json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror or error})") from None


def _family(file: Settings) -> tuple[Family, str]:
    if isinstance(kind := file.data.get("model_type"), str) and kind in UNREADABLE:
        raise file.error("model_type", kind, f"is not read: {UNREADABLE[kind]}")
    if "model_type" not in file.data:
        raise ConfigError(f"{file.where}: names no model_type, as every Hugging Face folder does")
    family = file.choice("model_type", FAMILIES, "")
    for key in PACKED:
        file.only(key, None)
    for key in CHANGED:
        file.only(key, False, None)
    file.only("pruned_heads", {}, None)
    named = file.data.get("architectures") or [family.architectures[0]]
    if not isinstance(named, list) or len(named) != 1 or named[0] not in family.architectures:
        raise file.error("architectures", named, f"is none that is read: {', '.join(family.architectures)}")
    return family, named[0]


def _config(file: Settings, family: Family, weights: Weights, architecture: str) -> Any:
    try:
        return family.config(file, weights, architecture)
    except ConfigError as error:  # a rule of our own config, which does not know the file
        message = str(error)
        raise ConfigError(message if message.startswith(file.where) else f"{file.where}: {message}") from None


def _extra(file: Settings, family: Family, architecture: str, config: Any) -> dict[str, Any]:
    extra: dict[str, Any] = {"family": family.model_type, "architecture": architecture} | file.tokens()
    if family.length and family.length in file.data:
        extra["length"] = file.integer(family.length, None, LENGTH)
    if _labels(config):
        extra["id2label"] = dict(enumerate(file.labels()))
    file.read_keys |= {"id2label", "num_labels", "_num_labels"}
    return extra | {"unread": file.unread()}


def _labels(config: Any) -> int:
    if isinstance(config, ViT):
        return config.labels
    return config.head.labels if isinstance(config, BERT) and isinstance(config.head, ClassifierHead) else 0


def _family_for(config: Any) -> Family:
    """The family whose config.json can say what ours says."""
    for name in ("attention", "position", "feed", "norm", "wiring"):
        kind = type(getattr(config, name, None))
        if not kind.__module__.startswith(("regard.", "builtins")):
            raise ConfigError(f"{name}: {kind.__name__}, a part of your own, cannot be stored in a Hugging Face folder")
    for name in sorted(UNWRITTEN & {setting.name for setting in fields(config)}):
        if getattr(config, name) != (usual := type(config).__dataclass_fields__[name].default):
            where = "model." if isinstance(config, GPT) else ""
            value = f"{getattr(config, name)} cannot be stored in a Hugging Face folder, only {usual}"
            raise ConfigError(f"{where}{name}: {value}")
    if isinstance(config, BERT):
        return FAMILIES["bert"]
    if isinstance(config, ViT):
        return FAMILIES["vit"]
    if not isinstance(config, GPT):
        raise ConfigError(f"{type(config).__name__} cannot be written as a Hugging Face folder; GPT, BERT and ViT can")
    if isinstance(config.position, Learned):
        return FAMILIES["gpt2"]
    if isinstance(config.position, Rotary):
        return FAMILIES["llama" if isinstance(config.norm, RMSNorm) else "gpt_neox"]
    raise ConfigError(f"position: {config.position} cannot be stored in a Hugging Face folder; Learned and Rotary can")


def _how(config: Any) -> str:
    """How a run is trained that can be written, for a person whose run cannot."""
    task = "lm" if isinstance(config, GPT) else "image" if isinstance(config, ViT) else ""
    if isinstance(config, BERT) and not isinstance(config.head, TokenClassifierHead):
        task = "classify" if _labels(config) else "fill"
    return f"; `regard train {task} --recipe portable` makes one that can be written" if task else ""


def _description(config: Any, family: Family, extra: Mapping[str, Any]) -> dict[str, Any]:
    """What the model's config does not know and config.json should."""
    description = {key: extra[key] for key in TOKENS if key in extra}
    if family.length and not isinstance(config.position, Learned):
        description[family.length] = extra.get("length", 2048)
    count = _labels(config)
    names = extra.get("id2label") or {number: f"LABEL_{number}" for number in range(count)}
    if count:
        if [int(number) for number in names] != list(range(count)):
            raise ConfigError(f"id2label: names {shown(list(names))}, and the model has {count} labels, from 0")
        description["id2label"] = {str(number): name for number, name in names.items()}
        description["label2id"] = {name: int(number) for number, name in names.items()}
    return description
