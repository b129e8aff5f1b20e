"""sentence-transformers folders: modules.json says how the states of an encoder become one vector (Reimers, 2019)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.core.errors import UserError
from regard.interop.folder import file_in, has_file, read_json, shown
from regard.interop.hub import locate

MODULES, LENGTHS = "modules.json", "sentence_bert_config.json"
KINDS = ("Transformer", "Pooling", "Normalize")  # the modules that are read, in this order
Pooling = Literal["first", "mean", "max"]
MODES: dict[str, Pooling] = {
    "pooling_mode_cls_token": "first",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
}


NAMED: dict[str, Pooling] = {"cls": "first", "mean": "mean", "max": "max"}


@dataclass(frozen=True)
class SentenceSettings:
    pooling: Pooling = "mean"
    normalise: bool = True
    max_length: int | None = None  # tokens read of a text; None: as many as the model has positions
    lower: bool = False  # texts are read in lower case


def read_sentence_settings(folder: Path) -> SentenceSettings:
    """How a folder wants its texts embedded; the mean of the tokens, normalised, where it does not say."""
    folder = locate(folder)
    if not has_file(folder, MODULES):
        return SentenceSettings()
    modules = _modules(folder)
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if kinds != list(KINDS[: len(kinds)]) or len(kinds) < 2:
        raise UserError(f"{folder / MODULES}: has modules {shown(kinds)}; Transformer, Pooling and Normalize are read")
    sub = modules[1].get("path")
    if not isinstance(sub, str) or "/" in sub or sub in ("", "..", "."):
        raise UserError(f"{folder / MODULES}: path {shown(sub)} is not the plain name of a folder")
    lengths = read_json(folder, LENGTHS) if has_file(folder, LENGTHS) else {}
    longest = lengths.get("max_seq_length")
    if longest is not None and (type(longest) is not int or longest < 2):
        raise UserError(f"{folder / LENGTHS}: max_seq_length must be a whole number from 2, not {shown(longest)}")
    return SentenceSettings(_pooling(folder / sub), len(kinds) == 3, longest, lengths.get("do_lower_case") is True)


def _modules(folder: Path) -> list[dict[str, Any]]:
    path = file_in(folder, MODULES)
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: is not JSON ({error})") from None
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise UserError(f"{path}: must be a list of modules")
    return modules


def _pooling(folder: Path) -> Pooling:
    settings = read_json(folder, "config.json")
    if isinstance(mode := settings.get("pooling_mode"), str):  # as newer files have it
        chosen = [NAMED[mode]] if mode in NAMED else []
    else:
        on = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
        chosen = [MODES[key] for key in on if key in MODES and len(on) == 1]
    if not chosen:
        raise UserError(f"{folder / 'config.json'}: pools by the first token, the mean or the maximum, by one of them")
    return chosen[0]
