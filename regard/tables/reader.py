"""A network that reads a table in several views and answers rows of it, with what it read kept for the next ones."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.closed_form import ClosedForms
from regard.core.machine import seed_for
from regard.models.in_context import Context, InContextModel, fit_closed_forms
from regard.tables.neighbourhoods import MOST_PLACES, Neighbourhoods, find_neighbourhoods
from regard.tables.network.in_context_loss import smooth_probabilities
from regard.tables.views import Table, View, draw_view, rows_at_once

CELLS_AT_ONCE = 60_000  # answered in one pass, which bounds memory
MOST_KEPT = 24  # parts of a table that are kept once they were read
BLOCK = 64  # rows that are answered together at least
WHOLE = -1  # in place of the number of a neighbourhood
LOCAL = 1  # the view that sees neighbourhoods
MOST_SOUGHT = 20_000  # rows among which neighbours are sought


@dataclass(frozen=True)
class Looks:
    """How a network looks at a table: in so many views, of which each number stands for another."""

    views: int
    first: int = 0
    local: bool = False  # of a table that is too large to be read at once, one view sees the neighbourhood of each row


@dataclass(frozen=True)
class Part:
    """What was read of a table, whole or around some place."""

    rows: Tensor  # that are looked at, and vote
    counted: Tensor  # by which resemblance is known
    known: Context


class Shared:
    """What the closed forms say of a table, which no weights change: views that see it alike need it once."""

    def __init__(self) -> None:
        self._found: dict[bytes, ClosedForms] = {}

    def guesses(self, view: View, find: Callable[[], ClosedForms]) -> ClosedForms:
        key = view.alike
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]


def _filled(values: Float[Tensor, "row column"]) -> Float[Tensor, "filled column"]:
    """With rows to spare, for whole blocks of them.

    A processor adds up a row in another order at another place in a block, or in a part of one. So rows are answered in
    whole blocks and sorted: no answer depends, even in its last digit, on how many others are asked and in which order.
    """
    spare = -len(values) % BLOCK
    return torch.cat([values, values[-1:].expand(spare, -1)])


class Reader:
    """A network that has read a table in a few views, and answers rows of it."""

    def __init__(self, model: InContextModel, table: Table, looks: Looks, seed: int, shared: Shared | None = None):
        """Readers of the same table, each with a network of its own, may share what needs no network."""
        self.model, self.table, self.looks = model.eval(), table, looks
        self.shared = shared or Shared()
        self.views = [draw_view(table, looks.first + number, seed) for number in range(looks.views)]
        self._forget()

    def _forget(self) -> None:
        self._parts: dict[tuple[int, int], Part] = {}
        self._near: dict[int, Neighbourhoods] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What was read can be read again, and would make a pickle many times as large."""
        return {**self.__dict__, "_parts": {}, "_near": {}, "shared": Shared()}

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        """The probability of each class; or the mean and the quantiles of a number, on its own scale."""
        order = torch.from_numpy(np.lexsort(values.numpy().T))  # see _filled
        answers = [self._answer(number, values[order]) for number in range(len(self.views))]
        return torch.stack(answers).mean(0)[order.argsort()]

    @torch.inference_mode()
    def _answer(self, number: int, values: Tensor) -> Tensor:
        asked, told = [], []
        for rows, part in self.passes(number, values):
            asked.append(rows)
            told.append(self.model.predict(part.known, self.views[number].see(_filled(values[rows])))[0, : len(rows)])
        return self._plain(self.views[number], torch.cat(told)[torch.cat(asked).argsort()])

    @torch.inference_mode()
    def passes(self, number: int, values: Tensor) -> Iterator[tuple[Tensor, Part]]:
        """Which of the asked rows are answered together, and from what part of the table."""
        groups = [(WHOLE, torch.arange(len(values)))]
        if self.looks.local and number == LOCAL and len(self.views[number].rows) < len(self.table.values):
            places = self._neighbourhoods(number).of(self._states(number, values))
            groups = [(place, (places == place).nonzero()[:, 0]) for place in places.unique().tolist()]
        for place, rows in groups:
            part = self._read(number, place)
            for asked in rows.split(self._asked_at_once(self.views[number])):
                yield asked, part

    def _read(self, number: int, place: int) -> Part:
        """What a view sees, of the whole table or of a neighbourhood, kept."""
        kept = self._parts.pop((number, place), None)
        if kept is None:
            view = self.views[number]
            kept = self._read_whole(view) if place == WHOLE else self._read_around(view, self._around(number, place))
            if len(self._parts) >= max(MOST_KEPT, len(self.views) + MOST_PLACES):
                self._parts.pop(next(iter(self._parts)))  # the one that was not asked for longest
        self._parts[number, place] = kept
        return kept

    def _read_whole(self, view: View) -> Part:
        seen = view
        if len(view.counted) > len(view.rows):
            # Counting takes long: it is done once for all views, whatever they call the first class.
            seen = replace(view, order=view.order.sort().values)
        guesses = self.shared.guesses(seen, lambda: fit_closed_forms(*self._shown(seen, view.counted)))
        guesses = guesses.subset(torch.searchsorted(view.counted, view.rows))
        if seen is not view and self.table.classes:
            guesses = guesses.permute_classes(view.order)
        known = self.model.encode_context(*self._shown(view, view.rows), view.codes, guesses)
        return Part(view.rows, view.counted, known)

    def _read_around(self, view: View, rows: Tensor) -> Part:
        return Part(rows, rows, self.model.encode_context(*self._shown(view, rows), view.codes))

    def _shown(self, view: View, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
        """What the network is shown of some rows: cells, which columns are categories, targets, how many classes."""
        table = self.table.rows(rows)
        category = table.category[view.columns][None]
        return view.see(table.values), category, view.show(table.target), table.classes

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
        known = self._read(number, WHOLE).known
        parts = values.split(self._asked_at_once(view))
        return torch.cat([self.model.embed_rows(known, view.see(part))[0][0] for part in parts])

    def _asked_at_once(self, view: View) -> int:
        """Rows that one pass can answer, in whole blocks: what their cells say about each class takes room too."""
        rows = CELLS_AT_ONCE // ((len(view.columns) + 4) * (1 + self.table.classes // 30))
        return max(BLOCK, rows - rows % BLOCK)

    def _plain(self, view: View, answer: Tensor) -> Tensor:
        """An answer of the network in the words of the table."""
        if view.scale is None:
            return smooth_probabilities(answer, self.table.classes)[:, view.order.argsort()]
        quantiles = view.scale.back(answer[:, 1:].sort(-1).values)
        straight = len(view.scale.numbers) == 2
        # On a bent scale the mean lies elsewhere; even quantiles have it as their mean.
        mean = view.scale.back(answer[:, :1]) if straight else quantiles.mean(-1, keepdim=True)
        return torch.cat([mean, quantiles], -1)
