"""Views of a table: the same network looks several times, each time otherwise, and its answers are averaged.

What a table says must not depend on the order of its columns or on which class is called the first. The network has
not learned that perfectly, so each view draws both anew; and a table that is too large to be read whole is read in
parts that differ from view to view.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.stats import rankdata
from torch import Generator, Tensor

from regard.core.machine import seed_for
from regard.models.in_context import COLUMN_CODE, InContextModel, Known
from regard.tables.neighbourhoods import MOST_PLACES, Neighbourhoods, find_neighbourhoods
from regard.tables.target import Scale
from regard.tasks.read_table import class_chances

MOST_ROWS = 3000  # read at once
MOST_COLUMNS = 64
CELLS_AT_ONCE = 60_000  # answered in one pass, which bounds memory
MOST_KEPT = 24  # parts of a table that are kept once they were read
BLOCK = 64  # rows that are answered together at least
WHOLE = -1  # in place of the number of a neighbourhood
LOCAL = 1  # the view that sees neighbourhoods
MOST_SOUGHT = 20_000  # rows among which neighbours are sought
LABELS_AT_ONCE = 30_000_000  # cells × classes: each cell is told what it says about each class


@dataclass(frozen=True)
class Table:
    """A table as the network reads it."""

    values: Float[Tensor, "row column"]  # numbers, or codes of categories; NaN where missing
    category: Bool[Tensor, " column"]
    target: Float[Tensor, " row"]  # the number of a class, or a number
    classes: int  # 0: numbers

    def rows(self, chosen: Tensor) -> "Table":
        return replace(self, values=self.values[chosen], target=self.target[chosen])


@dataclass(frozen=True)
class Looks:
    """How a network looks at a table: in so many views, of which each number stands for another."""

    views: int
    first: int = 0
    local: bool = False  # of a table that is too large to be read at once, one view sees the neighbourhood of each row


@dataclass(frozen=True)
class View:
    rows: Tensor
    columns: Tensor
    codes: Float[Tensor, "one seen code"]
    order: Tensor  # of the classes: the first to the network is order[0]
    scale: Scale | None

    def see(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "one row seen"]:
        return values[None, :, self.columns]

    def show(self, target: Float[Tensor, " row"]) -> Float[Tensor, "one row"]:
        """The target as the network counts it."""
        if self.scale is not None:
            return self.scale.show(target)[None].float()
        return self.order.argsort()[target.long()][None].float()


def draw_view(table: Table, number: int, seed: int) -> View:
    chance = torch.Generator().manual_seed(seed_for("view", seed, number))
    scale = None
    if not table.classes:
        scale = Scale.bent(table.target) if number % 2 else Scale.straight(table.target)
    rows = _some_rows(table, chance)
    columns = _some_columns(table.rows(rows), chance)
    return View(
        rows=rows,
        columns=columns,
        codes=torch.randn(1, len(columns), COLUMN_CODE, generator=chance),
        order=torch.randperm(max(table.classes, 1), generator=chance),
        scale=scale,
    )


def _filled(values: Float[Tensor, "row column"]) -> Float[Tensor, "filled column"]:
    """With rows to spare, for whole blocks of them.

    A processor adds up a row in another order at another place in a block, or in a part of one. So rows are answered in
    whole blocks and sorted: no answer depends, even in its last digit, on how many others are asked and in which order.
    """
    spare = -len(values) % BLOCK
    return torch.cat([values, values[-1:].expand(spare, -1)])


def rows_at_once(table: Table) -> int:
    """How many rows are read at once: fewer where each cell says something about very many classes."""
    labels = max(table.classes, 1) * min(table.values.shape[1], MOST_COLUMNS)
    return min(MOST_ROWS, max(MOST_ROWS // 10, LABELS_AT_ONCE // labels))


def _some_rows(table: Table, chance: Generator) -> Tensor:
    """All of them or, of a large table, a part in which rare classes are not lost."""
    count, most = len(table.values), rows_at_once(table)
    if count <= most:
        return torch.arange(count)
    keys = torch.rand(count, generator=chance)
    if table.classes:
        # Rows are taken in the order of their turn within their class, so that small classes come whole.
        order = (table.target * 2 + keys).argsort()
        sizes = torch.bincount(table.target.long(), minlength=table.classes)
        turn = torch.cat([torch.arange(int(size)) for size in sizes])
        share = (sizes.double() / count)[table.target.long()[order]]
        needed = torch.empty(count, dtype=torch.double)
        needed[order] = turn / (share * most).clamp(min=16)
        return needed.argsort()[:most].sort().values
    return keys.argsort()[:most].sort().values


def _some_columns(table: Table, chance: Generator) -> Tensor:
    """All that tell rows apart or, of a wide table, some: those that seem to matter more often than the rest."""
    cells = table.values.nan_to_num(nan=torch.inf)
    columns = (cells != cells[:1]).any(0).nonzero()[:, 0]
    if not len(columns):
        return torch.arange(1)  # there must be something to read
    if len(columns) <= MOST_COLUMNS:
        return columns
    weight = 0.02 + _relevance(replace(table, values=table.values[:, columns]))
    keys = torch.rand(len(columns), generator=chance).clamp(min=1e-9).log() / weight
    return columns[keys.argsort(descending=True)[:MOST_COLUMNS].sort().values]


def _relevance(table: Table) -> Float[Tensor, " column"]:
    """The largest correlation of each column, by rank, with the target or with a class of it."""
    filled = table.values.where(table.values.isfinite(), table.values.nanmedian(0).values)
    ranks = _mean_ranks(filled)
    if table.classes:
        common = torch.bincount(table.target.long(), minlength=table.classes).argsort(descending=True)[:10]
        goals = (table.target[:, None] == common).float()
    else:
        goals = _mean_ranks(table.target[:, None])
    ranks, goals = (x - x.mean(0) for x in (ranks, goals))
    match = ranks.T @ goals / (ranks.norm(dim=0)[:, None] * goals.norm(dim=0)).clamp(min=1e-6)
    return match.abs().amax(1)


def _mean_ranks(values: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Equal values share a rank: in the order of their rows they would seem to say something."""
    return torch.from_numpy(rankdata(values.numpy(), axis=0)).float()


class Reader:
    """A network that has read a table in a few views, and answers rows of it."""

    def __init__(self, model: InContextModel, table: Table, looks: Looks, seed: int):
        self.model, self.table, self.looks = model.eval(), table, looks
        self.views = [draw_view(table, looks.first + number, seed) for number in range(looks.views)]
        self._forget()

    def _forget(self) -> None:
        self._known: dict[tuple[int, int], tuple[Tensor, Known]] = {}
        self._near: dict[int, Neighbourhoods] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What was read can be read again, and would make a pickle many times as large."""
        return {**self.__dict__, "_known": {}, "_near": {}}

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        """The probability of each class; or the mean and the quantiles of a number, on its own scale."""
        order = torch.from_numpy(np.lexsort(values.numpy().T))  # see _filled
        answers = [self._answer(number, values[order]) for number in range(len(self.views))]
        return torch.stack(answers).mean(0)[order.argsort()]

    @torch.inference_mode()
    def _answer(self, number: int, values: Tensor) -> Tensor:
        asked, told = [], []
        for rows, _, known in self.passes(number, values):
            asked.append(rows)
            told.append(self.model.answer(known, self.views[number].see(_filled(values[rows])))[0, : len(rows)])
        return self._plain(self.views[number], torch.cat(told)[torch.cat(asked).argsort()])

    @torch.inference_mode()
    def passes(self, number: int, values: Tensor) -> Iterator[tuple[Tensor, Tensor, Known]]:
        """Which of the asked rows are answered together, the known rows that they see, and what was read of those."""
        groups = [(WHOLE, torch.arange(len(values)))]
        if self.looks.local and number == LOCAL and len(self.table.values) > MOST_ROWS:
            places = self._neighbourhoods(number).of(self._states(number, values))
            groups = [(place, (places == place).nonzero()[:, 0]) for place in places.unique().tolist()]
        for place, rows in groups:
            shown, known = self._read(number, place)
            for part in rows.split(self._asked_at_once(self.views[number])):
                yield part, shown, known

    def _read(self, number: int, place: int) -> tuple[Tensor, Known]:
        """The rows that a view sees, of the whole table or of a neighbourhood, and what it has read of them, kept."""
        kept = self._known.pop((number, place), None)
        if kept is None:
            view = self.views[number]
            rows = view.rows if place == WHOLE else self._around(number, place)
            table = self.table.rows(rows)
            kept = rows, self.model.read(
                view.see(table.values), table.category[view.columns][None], view.show(table.target),
                table.classes, view.codes,
            )  # fmt: skip
            if len(self._known) >= max(MOST_KEPT, len(self.views) + MOST_PLACES):
                self._known.pop(next(iter(self._known)))  # the one that was not asked for longest
        self._known[number, place] = kept
        return kept

    def _around(self, number: int, place: int) -> Tensor:
        """The rows of a neighbourhood and, for the wider picture, some of the whole table."""
        near = self._neighbourhoods(number).rows[place]
        wide = self.views[number].rows
        some = wide[:: -(-len(wide) // (rows_at_once(self.table) - len(near)))]
        return torch.cat([near, some]).unique()

    def _neighbourhoods(self, number: int) -> Neighbourhoods:
        if number not in self._near:
            some = (
                torch.linspace(0, len(self.table.values) - 1, min(len(self.table.values), MOST_SOUGHT)).round().long()
            )
            states = self._states(number, self.table.values[some])
            found = find_neighbourhoods(states, rows_at_once(self.table) * 2 // 3, seed_for("near", number))
            self._near[number] = replace(found, rows=some[found.rows])
        return self._near[number]

    def _states(self, number: int, values: Tensor) -> Float[Tensor, "row width"]:
        """What the network makes of the cells of each row, from the part of the table that the view reads whole."""
        view = self.views[number]
        _, known = self._read(number, WHOLE)
        parts = values.split(self._asked_at_once(view))
        return torch.cat([self.model.see(known, view.see(part))[0][0] for part in parts])

    def _asked_at_once(self, view: View) -> int:
        """Rows that one pass can answer, in whole blocks: what their cells say about each class takes room too."""
        rows = CELLS_AT_ONCE // ((len(view.columns) + 4) * (1 + self.table.classes // 30))
        return max(BLOCK, rows - rows % BLOCK)

    def _plain(self, view: View, answer: Tensor) -> Tensor:
        """An answer of the network in the words of the table."""
        if view.scale is None:
            return class_chances(answer, self.table.classes)[:, view.order.argsort()]
        quantiles = view.scale.back(answer[:, 1:].sort(-1).values)
        straight = len(view.scale.numbers) == 2
        # On a bent scale the mean lies elsewhere; even quantiles have it as their mean.
        mean = view.scale.back(answer[:, :1]) if straight else quantiles.mean(-1, keepdim=True)
        return torch.cat([mean, quantiles], -1)
