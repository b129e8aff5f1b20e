"""Somebody else's folder: its files are read only where they claim to be, and nothing in them is ever run.

A file must lie in the folder under a plain name, or in the blobs that a snapshot of the Hugging Face cache links to;
JSON is bounded; a pickle is opened by torch's `weights_only` reader or not at all. Shapes are known before any tensor
is read, so a model is built only when its weights are there.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.core.errors import UserError

LARGEST_JSON = 16 * 2**20  # bytes; the labels of ImageNet-21k take two of them
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED, PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
VARIANT = re.compile(r"(model|pytorch_model)\.([A-Za-z0-9_]+)\.(safetensors|bin)")  # model.fp16.safetensors
INDEX_VARIANT = re.compile(r"(model\.safetensors|pytorch_model\.bin)\.index\.([A-Za-z0-9_]+)\.json")
REMAPPED = 2**26  # bytes read of a file before it is mapped anew
MAX_TENSORS = 2**15  # in a folder; a model of 512 layers has half as many
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def has_file(folder: Path, name: str) -> bool:
    return (folder / name).is_symlink() or (folder / name).exists()


def file_in(folder: Path, name: str) -> Path:
    """The file of that name, which must be a plain name, present, and truly inside the folder."""
    if name in ("", ".", "..") or any(sign in name for sign in "/\\\0") or not name.isprintable():
        raise UserError(f"{folder}: {shown(name)} is not the plain name of a file in the folder: refused")
    path = folder / name
    if not has_file(folder, name):
        raise UserError(f"{path}: is missing")
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UserError(f"{path}: is a broken link") from None
    if not real.is_relative_to(folder.resolve()) and not _in_cache(folder, real):
        raise UserError(f"{path}: is a link out of the folder: refused; copy the file itself into the folder")
    if not real.is_file():
        raise UserError(f"{path}: is not a file")
    return real


def _in_cache(folder: Path, real: Path) -> bool:
    """Whether a file is a blob of the model whose snapshot the folder is: models--org--name/snapshots/<commit>."""
    snapshot = folder.resolve()
    model = snapshot.parent.parent
    return snapshot.parent.name == "snapshots" and model.name.startswith("models--") and real.parent == model / "blobs"


def read_json(folder: Path, name: str) -> dict[str, Any]:
    path = file_in(folder, name)
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise UserError(f"{path}: has {path.stat().st_size:,} bytes, more than {LARGEST_JSON:,}: refused")
        data = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except RecursionError:
        raise UserError(f"{path}: is nested too deeply: refused") from None
    except ValueError as error:  # not JSON, not UTF-8, or a number with thousands of digits
        raise UserError(f"{path}: is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: holds no JSON object")
    return data


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number that a config can mean")


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: its shape is known from the header, its values are read when asked for."""

    shape: tuple[int, ...]
    path: Path
    read: Callable[[], Tensor]


class Weights:
    """The tensors of a folder by name."""

    def __init__(self, stored: Mapping[str, Stored]):
        self.stored = stored

    def __contains__(self, name: str) -> bool:
        return name in self.stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.stored[name].shape

    def read(self, name: str) -> Tensor:
        path = self.stored[name].path
        try:
            tensor = self.stored[name].read()
        except SafetensorError as error:
            raise UserError(f"{path}: {shown(name)} cannot be read ({one_line(error)})") from None
        if tensor.dtype not in FLOATS or tensor.layout != torch.strided or tensor.device.type != "cpu":
            kind = ", ".join(str(what).removeprefix("torch.") for what in (tensor.dtype, tensor.layout, tensor.device))
            raise UserError(f"{path}: {shown(name)} holds no plain floats ({kind}): packed weights are not read")
        return tensor

    def same(self, one: str, other: str) -> bool:
        return self.shape(one) == self.shape(other) and torch.equal(self.read(one), self.read(other))

    def renamed(self, names: Mapping[str, str]) -> "Weights":
        """The same tensors under other names; `names` leads from the new name to the present one."""
        return Weights({new: self.stored[old] for new, old in names.items()})


@contextmanager
def open_weights(folder: Path, file: str | None = None) -> Iterator[Weights]:
    """safetensors, whole or in shards; else a pickle of tensors only; else the only variant (fp16). Or `file`."""
    name = next((name for name in (SINGLE, INDEX, PICKLED, PICKLED_INDEX) if has_file(folder, name)), None)
    name = file or name or _variant(folder)
    if name is None:
        raise UserError(f"{folder}: holds no weights ({SINGLE}, {INDEX}, {PICKLED} or {PICKLED_INDEX})")
    names = _shards(folder, name) if name.endswith(".json") else {name: ()}
    paths = [file_in(folder, shard) for shard in sorted(names)]
    pickled = name.startswith(PICKLED.removesuffix(".bin")) or name.endswith(".bin")
    weights = _open_pickles(paths) if pickled else _open_shards(paths)
    if lost := [tensor for tensors in names.values() for tensor in tensors if tensor not in weights]:
        raise UserError(f"{folder / name}: no shard holds {listed(lost)}")
    yield weights
    weights.stored = {}  # lets go of the files


def _variant(folder: Path) -> str | None:
    """The weights of a folder that has them in one other precision only, as `variant=` saves them."""
    if not folder.is_dir():
        return None
    names = sorted(path.name for path in folder.iterdir())
    variants = [name for name in names if VARIANT.fullmatch(name) or INDEX_VARIANT.fullmatch(name)]
    variants = [name for name in variants if name.startswith("model.")] or variants  # safetensors before pickles
    if len(variants) > 1:
        raise UserError(f"{folder}: holds several variants of its weights ({listed(variants)}); keep one, as {SINGLE}")
    return variants[0] if variants else None


def _shards(folder: Path, name: str) -> dict[str, list[str]]:
    """The files that an index names, each with its tensors."""
    index = read_json(folder, name).get("weight_map")
    if not isinstance(index, dict) or not all(isinstance(shard, str) for shard in index.values()):
        raise UserError(f"{folder / name}: weight_map must map tensor names to files")
    shards: dict[str, list[str]] = {}
    for tensor, shard in index.items():
        shards.setdefault(shard, []).append(tensor)
    return shards


class _Mapped:
    """A safetensors file, mapped anew from time to time: else all that was read of it would count as memory in use."""

    def __init__(self, path: Path):
        self.path, self.seen, self.file = path, 0, safe_open(path, framework="pt")

    def read(self, name: str) -> Tensor:
        if self.seen > REMAPPED:
            self.seen, self.file = 0, safe_open(self.path, framework="pt")
        tensor: Tensor = self.file.get_tensor(name)
        self.seen += tensor.nbytes
        return tensor


def _open_shards(paths: list[Path]) -> Weights:
    stored: dict[str, Stored] = {}
    for path in paths:
        try:
            mapped = _Mapped(path)
            file, names = mapped.file, mapped.file.keys()
            if len(stored) + len(names) > MAX_TENSORS:
                raise UserError(f"{path}: more than {MAX_TENSORS:,} tensors, where no model here has so many: refused")
            for name in names:
                if name in stored:
                    raise UserError(f"{path}: {shown(name)} is in {stored[name].path.name} too")
                stored[name] = Stored(tuple(file.get_slice(name).get_shape()), path, partial(mapped.read, name))
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path}: is not a whole safetensors file ({one_line(error)})") from None
    return Weights(stored)


def _open_pickles(paths: list[Path]) -> Weights:
    stored: dict[str, Stored] = {}
    for path in paths:
        for name, tensor in _open_pickle(path).items():
            if name in stored:
                raise UserError(f"{path}: {shown(name)} is in {stored[name].path.name} too")
            stored[name] = Stored(tuple(tensor.shape), path, partial(_same, tensor))
    return Weights(stored)


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _open_pickle(path: Path) -> dict[str, Tensor]:
    try:
        with warnings.catch_warnings():  # about odd pickles, of which the error below says enough
            warnings.simplefilter("ignore")
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a broken pickle fails in any way it likes; whatever it is, it is not opened otherwise
        reason = "it asks to run code" if "weights_only" in str(error) else one_line(error)
        raise UserError(f"{path}: refused, no plain pickle of tensors ({reason}); ask for safetensors") from None
    named = isinstance(tensors, dict) and all(isinstance(name, str) for name in tensors)
    if not named or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise UserError(f"{path}: holds more than named tensors; ask for safetensors")
    return dict(tensors)


def one_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def shown(value: object) -> str:
    """A value that strangers chose, short and on one line."""
    text = value if isinstance(value, str) and value and value.isprintable() else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def listed(names: list[str], most: int = 8) -> str:
    some = ", ".join(shown(name) for name in names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most:,} more"
