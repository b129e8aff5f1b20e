"""Checked reading: values of a stranger's file by key, each with its type and range, refused in one clear line."""

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.core import tensors
from regard.core.errors import UserError

MAX_ITEMS = 10_000_000
MAX_TEXT = 1_000_000  # characters

_repr = reprlib.Repr()
_repr.maxother = _repr.maxstring = 60


def shown(value: Any) -> str:
    """A value for an error message: on one line, and short however large it is."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return f"an integer of {value.bit_length():,} bits"
    return " ".join(_repr.repr(value).split())[:120]


class Section:
    """A mapping in a file, of which every key is read once and no other is allowed."""

    def __init__(self, file: Path, data: Any, key: str = ""):
        self.file, self.key = file, key
        if not isinstance(data, Mapping):
            raise self.error("", f"must be a mapping, not {shown(data)}")
        self._data, self._unread = data, dict.fromkeys(data)

    def error(self, name: object, problem: str) -> UserError:
        path = ".".join(part for part in (self.key, str(name)[:60]) if part)
        return UserError(f"{self.file}: {path}: {problem}" if path else f"{self.file}: {problem}")

    def value(self, name: str, **default: Any) -> Any:
        self._unread.pop(name, None)
        if name in self._data:
            return self._data[name]
        if "default" in default:
            return default["default"]
        raise self.error(name, "is missing")

    def text(self, name: str, most: int = MAX_TEXT, **default: Any) -> str:
        return self.as_text(name, self.value(name, **default), most)

    def as_text(self, name: object, value: Any, most: int = MAX_TEXT) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise self.error(name, f"must be text of at most {most:,} characters, not {shown(value)}")
        if not value.isprintable() and any(0xD800 <= ord(letter) < 0xE000 for letter in value):
            raise self.error(name, "holds a surrogate, which is no character")
        return value

    def optional_text(self, name: str, **default: Any) -> str | None:
        value = self.value(name, **default)
        return None if value is None else self.as_text(name, value)

    def choice(self, name: str, options: Sequence[str]) -> str:
        value = self.value(name)
        if not isinstance(value, str) or value not in options:
            raise self.error(name, f"must be one of {', '.join(options)}, not {shown(value)}")
        return value

    def boolean(self, name: str, **default: Any) -> bool:
        value = self.value(name, **default)
        if not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {shown(value)}")
        return value

    def integer(self, name: str, least: int, most: int, **default: Any) -> int:
        value = self.value(name, **default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(name, f"must be an integer from {least} to {most}, not {shown(value)}")
        return value

    def number(self, name: str, least: float, most: float, **default: Any) -> float:
        return self.as_number(name, self.value(name, **default), least, most)

    def as_number(self, name: object, value: Any, least: float, most: float) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(name, f"must be a number from {least:g} to {most:g}, not {shown(value)}")
        return float(value)

    def items(self, name: str, least: int = 0, most: int = MAX_ITEMS, **default: Any) -> list[Any]:
        value = self.value(name, **default)
        if not isinstance(value, list) or not least <= len(value) <= most:
            what = f"a list of {len(value):,}" if isinstance(value, list) else shown(value)
            raise self.error(name, f"must be a list of {least:,} to {most:,} items, not {what}")
        return value

    def labels(self, name: str, most: int = MAX_ITEMS, **default: Any) -> list[str | bool | int | float]:
        """Distinct categories or classes: text, booleans and finite numbers."""
        labels = self.items(name, 0, most, **default)
        distinct = set()
        for number, label in enumerate(labels):
            where = f"{name}[{number}]"
            if isinstance(label, str):
                self.as_text(where, label)
            elif not isinstance(label, (bool, int, float)) or (isinstance(label, float) and not math.isfinite(label)):
                raise self.error(where, f"must be text, a boolean or a finite number, not {shown(label)}")
            if (type(label), label) in distinct:
                raise self.error(where, f"{shown(label)} occurs twice")
            distinct.add((type(label), label))
        return labels

    def entries(self) -> list[tuple[str, Any]]:
        """All keys with their values, where any key is allowed."""
        self._unread = {}
        return [(self.as_text("a key", name), value) for name, value in self._data.items()]

    def section(self, name: str) -> "Section":
        return Section(self.file, self.value(name), ".".join(part for part in (self.key, name) if part))

    def sections(self, name: str, least: int = 0, most: int = MAX_ITEMS) -> "Iterator[Section]":
        prefix = f"{self.key}." if self.key else ""
        for number, item in enumerate(self.items(name, least, most)):
            yield Section(self.file, item, f"{prefix}{name}[{number}]")

    def done(self) -> None:
        """Refuse keys that were not read."""
        for name in self._unread:
            raise self.error(shown(name) if not isinstance(name, str) else name, "is unknown")


class Tensors:
    """The tensors of a file, of which every one is read once, with its dtype and shape, and no other is allowed."""

    def __init__(self, file: Path, tensors: Mapping[str, Tensor]):
        self.file, self._tensors, self._unread = file, tensors, dict.fromkeys(tensors)

    def error(self, name: str, problem: str) -> UserError:
        return UserError(f"{self.file}: {name}: {problem}")

    def read(self, name: str, dtype: torch.dtype, shape: tuple[int | None, ...]) -> Tensor:
        """A tensor of this dtype and shape, in which None is any size above 0."""
        if name not in self._tensors:
            raise self.error(name, "is missing")
        self._unread.pop(name, None)
        tensor = self._tensors[name]
        fits = len(tensor.shape) == len(shape) and all(
            size > 0 if wanted is None else size == wanted for size, wanted in zip(tensor.shape, shape, strict=True)
        )
        if tensor.dtype != dtype or not fits:
            wanted = " × ".join("n" if size is None else str(size) for size in shape)
            actual = " × ".join(map(str, tensor.shape)) or "scalar"
            raise self.error(name, f"must be {dtype} of shape {wanted}, not {tensor.dtype} of shape {actual}")
        return tensor

    def numbers(
        self, name: str, dtype: torch.dtype, shape: tuple[int | None, ...], least: float, most: float, nan: bool = False
    ) -> Tensor:
        """A tensor whose entries lie in a range; NaN only if allowed."""
        tensor = self.read(name, dtype, shape)
        inside = (tensor >= least) & (tensor <= most)
        if nan:
            inside |= tensor.isnan()
        if not inside.all():
            wrong = tensor[~inside][0].item()
            raise self.error(name, f"must be from {least:g} to {most:g}, not {wrong:g}")
        return tensor

    def integers(self, name: str, shape: tuple[int | None, ...], most: int) -> Tensor:
        """Indices from 0 to below `most`."""
        return self.numbers(name, torch.int64, shape, 0, most - 1)

    def take(self, prefix: str) -> dict[str, Tensor]:
        """All tensors with this prefix, without it, for a model that checks them itself."""
        names = [name for name in self._tensors if name.startswith(prefix)]
        for name in names:
            self._unread.pop(name, None)
        return {name.removeprefix(prefix): self._tensors[name] for name in names}

    def done(self) -> None:
        for name in self._unread:
            raise self.error(shown(name), "is unknown")


def load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return tensors.load(path)
    except (RuntimeError, TypeError, ValueError) as error:  # a dtype that torch cannot copy, for example
        raise UserError(f"{path}: is damaged ({' '.join(str(error).split())[:120]})") from None
