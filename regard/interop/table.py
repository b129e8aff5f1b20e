"""The mapping table of a family: their name, our names, and a change that can be undone.

One table serves both directions. Rows whose names our model does not have fall away (a bias where there is none, a head
of its own where it is tied), so what the file then still holds is extra, and is told.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.core.errors import ConfigError, UserError
from regard.interop.folder import Weights, listed, shown

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True)
class Change:
    """How one tensor of theirs becomes one or several of ours, and back."""

    ours: Callable[[Tensor], Tensors]
    theirs: Callable[[Tensors], Tensor]


SAME = Change(lambda t: (t,), lambda parts: parts[0])
FLIP = Change(lambda t: (t.T,), lambda parts: parts[0].T)
FIRST = Change(lambda t: (t[0],), lambda parts: parts[0][None])  # theirs has a batch of one in front
FUSED = Change(lambda t: t.chunk(3), lambda parts: torch.cat(parts))
FLIP_FUSED = Change(lambda t: t.T.chunk(3), lambda parts: torch.cat(parts).T)


def fused_by_head(heads: int) -> Change:
    """Query, key and value of the first head, then those of the second, and so on."""
    return Change(
        lambda t: tuple(part.flatten(0, 1) for part in t.unflatten(0, (heads, 3, -1)).unbind(1)),
        lambda parts: torch.stack([part.unflatten(0, (heads, -1)) for part in parts], 1).flatten(0, 2),
    )


PLUS_ONE = Change(  # their gain is counted from one
    lambda t: (t.float() + 1,), lambda parts: parts[0] - 1
)
HALVES = Change(lambda t: t.chunk(2), lambda parts: torch.cat(parts))


def split(*sizes: int) -> Change:
    """Several matrices one above the other."""
    return Change(lambda t: t.split(sizes), lambda parts: torch.cat(parts))


def without_first(rows: int) -> Change:
    """A table whose first rows no text ever asks for."""
    return Change(
        lambda t: (t[rows:],), lambda parts: torch.cat([parts[0].new_zeros(rows, *parts[0].shape[1:]), parts[0]])
    )


def repeated(times: int) -> Change:
    """One tensor of theirs that several of our blocks share."""
    return Change(lambda t: (t,) * times, lambda parts: parts[0])


def neighbours_to_halves(heads: int, size: int, turning: int) -> Change:
    """Rotary positions that turn neighbours, where ours turn halves: the rows of each head in another order."""
    even = [*range(0, turning, 2), *range(1, turning, 2), *range(turning, size)]
    back = sorted(range(size), key=even.__getitem__)

    def ordered(t: Tensor, order: list[int]) -> Tensor:
        return t.unflatten(0, (heads, size))[:, order].flatten(0, 1)

    return Change(lambda t: (ordered(t, even),), lambda parts: ordered(parts[0], back))


def fused_by_group(groups: int, heads: int, size: int) -> Change:
    """The queries of a group of heads, then the key and the value that they share, group by group."""
    each = heads // groups

    def ours(t: Tensor) -> Tensors:
        parts = t.unflatten(0, (groups, each + 2, size)).split((each, 1, 1), 1)
        return tuple(part.flatten(0, 2) for part in parts)

    def theirs(parts: Tensors) -> Tensor:
        return torch.cat([part.unflatten(0, (groups, -1, size)) for part in parts], 1).flatten(0, 2)

    return Change(ours, theirs)


def patches(channels: int, patch: int) -> Change:
    """Their convolution over patches is our matrix."""
    return Change(lambda t: (t.flatten(1),), lambda parts: parts[0].unflatten(1, (channels, patch, patch)))


@dataclass(frozen=True)
class Row:
    theirs: str  # {} stands for the number of the layer
    ours: tuple[str, ...]
    change: Change = SAME

    def at(self, layer: int) -> "Row":
        return Row(self.theirs.format(layer), tuple(name.format(layer) for name in self.ours), self.change)


def both(theirs: str, ours: str, change: Change = SAME) -> list[Row]:
    """Weight and bias under the same name."""
    return [Row(f"{theirs}.{kind}", (f"{ours}.{kind}",), change) for kind in ("weight", "bias")]


def fused(theirs: str, ours: tuple[str, ...], change: Change = FUSED) -> list[Row]:
    """Weight and bias of several of our layers, which are one of theirs."""
    return [Row(f"{theirs}.{kind}", tuple(f"{name}.{kind}" for name in ours), change) for kind in ("weight", "bias")]


@dataclass(frozen=True)
class Table:
    rows: list[Row]
    tied: Mapping[str, str] = field(default_factory=dict)  # a copy, and the tensor that it must equal
    buffers: tuple[str, ...] = ()  # what their code computes again: not read
    unused: tuple[str, ...] = ()  # what our model has no part for, and answers the same without
    constants: Mapping[str, float] = field(default_factory=dict)  # what of ours theirs does not have: always this value


def fitting(table: Table, ours: Mapping[str, Tensor]) -> list[Row]:
    """The rows of a model's own tensors, a row for each layer."""
    layers = 1 + max((int(n) for name in ours for n in re.findall(r"^(?:en|de)coder\.(\d+)\.", name)), default=0)
    numbered = [row.at(n) for row in table.rows for n in (range(layers) if "{}" in row.theirs else [0])]
    rows = [row for row in numbered if all(name in ours for name in row.ours)]
    constant = _any_of(*table.constants)
    matched = {name for row in rows for name in row.ours}
    if unmatched := sorted(name for name in set(ours) - matched if not constant.fullmatch(name)):
        raise ConfigError(f"{listed(unmatched)}: has no counterpart in the Hugging Face model")
    return rows


def check(folder: Path, table: Table, rows: Iterable[Row], ours: Mapping[str, Tensor], weights: Weights) -> list[str]:
    """Every tensor is there, in shape, and no other; gives the names of those that are left unused."""
    needed = {row.theirs: _their_shape(row, ours) for row in rows}
    missing = [name for name in needed if name not in weights]
    tied = {copy: main for copy, main in table.tied.items() if main in needed and copy not in needed}
    known = _any_of(*table.buffers, *tied)
    unused = _any_of(*table.unused)
    others = [name for name in weights if name not in needed and not known.fullmatch(name)]
    extra = [name for name in others if not unused.fullmatch(name)]
    wrong = [
        f"{name} ({_times(weights.shape(name))} on disk, {_times(shape)} needed)"
        for name, shape in needed.items()
        if name in weights and weights.shape(name) != shape
    ]
    problems = {"missing": missing, "extra": extra, "misshapen": wrong}
    messages = [f"{problem}: {listed(names)}" for problem, names in problems.items() if names]
    if messages:
        raise UserError(f"{folder}: the weights are not those that config.json describes; {'; '.join(messages)}")
    for copy, main in tied.items():
        if copy in weights and not weights.same(copy, main):
            raise UserError(f"{folder}: {copy} differs from {main}, though config.json ties them (tie_word_embeddings)")
    return sorted(set(others) - set(extra))


def adopt(weights: Weights, table: Table, rows: Iterable[Row]) -> Weights:
    """Where a file keeps only a copy of a tied tensor, the copy is the tensor."""
    names = {name: name for name in weights}
    needed = {row.theirs for row in rows}
    for copy, main in table.tied.items():
        if main in needed and main not in names and copy in names and copy not in needed:
            names[main] = names.pop(copy)
    return weights.renamed(names)


@torch.no_grad()
def fill(model: nn.Module, table: Table, rows: Iterable[Row], weights: Weights) -> None:
    """Copy tensor by tensor, so that no second model is ever in memory."""
    ours = model.state_dict()
    for pattern, value in table.constants.items():
        constant = _any_of(pattern)
        for name in (name for name in ours if constant.fullmatch(name)):
            ours[name].fill_(value)
    for row in rows:
        for name, part in zip(row.ours, row.change.ours(weights.read(row.theirs)), strict=True):
            ours[name].copy_(part)


def collect(rows: Iterable[Row], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors under their names."""
    return {row.theirs: row.change.theirs(tuple(ours[name] for name in row.ours)).contiguous() for row in rows}


def _their_shape(row: Row, ours: Mapping[str, Tensor]) -> tuple[int, ...]:
    return tuple(row.change.theirs(tuple(ours[name].to("meta") for name in row.ours)).shape)


def _any_of(*names: str) -> re.Pattern[str]:
    """Any of these names, for any layer."""
    patterns = [re.escape(name).replace(r"\{\}", r"\d+") for name in names]
    return re.compile("|".join(patterns) or r"(?!)")


def _times(shape: Iterable[int]) -> str:
    return "×".join(map(str, shape)) or "a scalar"


def canonical(
    names: Iterable[str], prefix: str, heads: tuple[str, ...], rename: Callable[[str], str]
) -> dict[str, str]:
    """New name to name on disk: a trunk saved by itself lacks the prefix of the whole model."""
    names = list(names)
    bare = prefix and not any(name.startswith(prefix) for name in names)
    renamed: dict[str, str] = {}
    for name in names:
        new = rename(name)
        new = prefix + new if bare and not new.startswith(heads) else new
        if new in renamed:
            raise UserError(f"the weights hold both {shown(name)} and {shown(renamed[new])}, which are one tensor")
        renamed[new] = name
    return renamed
