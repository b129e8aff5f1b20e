"""Views of a table: the same network looks several times, each time otherwise, and its answers are averaged.

What a table says must not depend on the order of its columns or on which class is called the first. The network has
not learned that perfectly, so each view draws both anew; and a table that is too large to be read whole is read in
parts that differ from view to view.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from regard.core.machine import seed_for
from regard.models.in_context import COLUMN_CODE, InContextModel, Known
from regard.tables.target import Scale
from regard.tasks.read_table import class_chances

MOST_ROWS = 3000  # read at once
MOST_COLUMNS = 64
CELLS_AT_ONCE = 60_000  # answered in one pass, which bounds memory
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
    return View(
        rows=rows,
        columns=_some_columns(table.rows(rows), chance),
        codes=torch.randn(1, min(table.values.shape[1], MOST_COLUMNS), COLUMN_CODE, generator=chance),
        order=torch.randperm(max(table.classes, 1), generator=chance),
        scale=scale,
    )


def _some_rows(table: Table, chance: Generator) -> Tensor:
    """All of them or, of a large table, a part in which rare classes are not lost."""
    count, columns = table.values.shape
    most = min(MOST_ROWS, max(MOST_ROWS // 10, LABELS_AT_ONCE // (max(table.classes, 1) * min(columns, MOST_COLUMNS))))
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
    """All of them or, of a wide table, some: those that seem to matter more often than the rest."""
    count = table.values.shape[1]
    if count <= MOST_COLUMNS:
        return torch.arange(count)
    weight = 0.02 + _relevance(table)
    keys = torch.rand(count, generator=chance).clamp(min=1e-9).log() / weight
    return keys.argsort(descending=True)[:MOST_COLUMNS].sort().values


def _relevance(table: Table) -> Float[Tensor, " column"]:
    """The largest correlation of each column, by rank, with the target or with a class of it."""
    filled = table.values.nan_to_num(nan=0.0)
    ranks = filled.argsort(0).argsort(0).float()
    if table.classes:
        common = torch.bincount(table.target.long(), minlength=table.classes).argsort(descending=True)[:10]
        goals = (table.target[:, None] == common).float()
    else:
        goals = table.target.argsort().argsort().float()[:, None]
    ranks, goals = (x - x.mean(0) for x in (ranks, goals))
    match = ranks.T @ goals / (ranks.norm(dim=0)[:, None] * goals.norm(dim=0)).clamp(min=1e-6)
    return match.abs().amax(1)


class Reader:
    """A network that has read a table in a few views, and answers rows of it."""

    def __init__(self, model: InContextModel, table: Table, views: Sequence[View]):
        self.model, self.table, self.views = model.eval(), table, list(views)
        self._known: list[Known | None] = [None] * len(views)

    def __getstate__(self) -> dict[str, Any]:
        """What was read can be read again, and would make a pickle many times as large."""
        return {**self.__dict__, "_known": [None] * len(self.views)}

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        """The probability of each class; or the mean and the quantiles of a number, on its own scale."""
        answers = [self._answer(number, values) for number in range(len(self.views))]
        return torch.stack(answers).mean(0)

    @torch.inference_mode()
    def _answer(self, number: int, values: Tensor) -> Tensor:
        view, known = self.views[number], self.known(number)
        at_once = CELLS_AT_ONCE // ((len(view.columns) + 4) * (1 + self.table.classes // 30))
        parts = [self.model.answer(known, view.see(part))[0] for part in values.split(max(1, at_once))]
        return self._plain(view, torch.cat(parts))

    def known(self, number: int) -> Known:
        """What a view has read of the table: read once, then kept."""
        kept = self._known[number]
        if kept is None:
            view = self.views[number]
            table = self.table.rows(view.rows)
            with torch.inference_mode():
                kept = self.model.read(
                    view.see(table.values), table.category[view.columns][None], view.show(table.target),
                    table.classes, view.codes,
                )  # fmt: skip
            self._known[number] = kept
        return kept

    def _plain(self, view: View, answer: Tensor) -> Tensor:
        """An answer of the network in the words of the table."""
        if view.scale is None:
            return class_chances(answer, self.table.classes)[:, view.order.argsort()]
        quantiles = view.scale.back(answer[:, 1:].sort(-1).values)
        straight = len(view.scale.numbers) == 2
        # On a bent scale the mean lies elsewhere; even quantiles have it as their mean.
        mean = view.scale.back(answer[:, :1]) if straight else quantiles.mean(-1, keepdim=True)
        return torch.cat([mean, quantiles], -1)
