"""Runs in the formats of other programs: `Format` is the table of them, one module each.

export(regard.load("runs/lm"), ONNX(), Path("lm-onnx"))
"""

from dataclasses import fields
from pathlib import Path
from typing import get_args

from regard.core.errors import ConfigError, did_you_mean
from regard.export.base import ExportFormat, Subject, check_new
from regard.export.gguf import GGUF
from regard.export.html import HTML
from regard.export.huggingface import HuggingFace
from regard.export.onnx import ONNX
from regard.export.peft import PEFT
from regard.export.torch import Torch

Format = GGUF | HTML | HuggingFace | ONNX | PEFT | Torch

__all__ = ["GGUF", "HTML", "ONNX", "PEFT", "Format", "HuggingFace", "Torch", "export", "format_names", "named_format"]


def export(subject: Subject, to: Format, out: str | Path) -> str:
    """Write a run or a fitted table as a new file or folder `out`; returns a line that says how to load it."""
    check_new(Path(out), to.ending)
    return to.write(subject, Path(out))


def format_names() -> tuple[str, ...]:
    return tuple(kind.name() for kind in get_args(Format))


def named_format(name: str, **options: object) -> Format:
    """The format of this name, with those of the options that are not None."""
    kinds: dict[str, type[ExportFormat]] = {kind.name(): kind for kind in get_args(Format)}
    if name not in kinds:
        raise ConfigError(f"--to {name}: is no format; {did_you_mean(name, kinds)}")
    chosen = {key: value for key, value in options.items() if value is not None}
    options_of = {one: {each.name for each in fields(kind)} for one, kind in kinds.items()}  # type: ignore[arg-type]
    for key in chosen:
        if key not in options_of[name]:
            takes = [one for one, known in options_of.items() if key in known]
            raise ConfigError(f"--{key.replace('_', '-')}: is an option of --to {' and '.join(takes)}, not of {name}")
    return kinds[name](**chosen)  # type: ignore[return-value]
