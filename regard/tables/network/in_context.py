"""In-context prediction: the pre-trained network with the context rows of one table, encoded once for many queries."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.closed_form import ClosedForms, RowFeatures
from regard.models.in_context import Context, InContextModel
from regard.parts.taps import listen
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import SHORT_CONTEXT, Member, affordable_members, draw_member
from regard.tables.network.contexts import GLOBAL, ClosedFormCache, Contexts, TableContext
from regard.tables.network.in_context_loss import smooth_probabilities
from regard.tables.threads import side_by_side

CELLS_PER_PASS = 60_000  # of query rows, which bounds memory
ROWS_PER_PIECE = 256  # of a pass, computed by one thread
BLOCK = 32  # least number of query rows of a piece
FEW_ROWS = 128  # query rows that all members predict together
LOCAL_MEMBER = 1  # the member that uses local context


@dataclass(frozen=True)
class Members:
    """Which ensemble members a predictor has: `count` of them, fewer if there are many rows, numbered from `first`."""

    count: int
    first: int = 0
    local: bool = False  # whether one member uses local context, if the table is too large for one pass


def _pad(values: Float[Tensor, "row column"]) -> Float[Tensor, "padded column"]:
    """Repeat the last row to fill whole blocks.

    Floating-point sums depend on a row's position within a block, and on the size of the last block. Rows are predicted
    sorted and in whole blocks, so that no prediction depends, even in its last digit, on the other query rows.
    """
    spare = -len(values) % BLOCK
    return torch.cat([values, values[-1:].expand(spare, -1)])


class InContextPredictor:
    """A network and a table, read by several ensemble members."""

    attends_to_labels = True

    def __init__(
        self,
        model: InContextModel,
        table: EncodedTable,
        members: Members,
        seed: int,
        closed_forms: ClosedFormCache | None = None,
    ):
        """Predictors of the same table may share a cache of closed forms."""
        self.model, self.table, self.settings = model.eval(), table, members
        self.closed_forms = closed_forms or ClosedFormCache()
        count = affordable_members(table, members.count)
        self.members = [draw_member(table, members.first + number, seed) for number in range(count)]
        self.contexts = Contexts(model, table, self.members, self.closed_forms)

    def __getstate__(self) -> dict[str, Any]:
        """Encoded contexts can be computed again, and would make a pickle many times as large."""
        cache = ClosedFormCache()
        contexts = Contexts(self.model, self.table, self.members, cache)
        return {**self.__dict__, "contexts": contexts, "closed_forms": cache}

    def first_members(self, count: int) -> "InContextPredictor":
        """The same with at most so many members; encoded contexts are shared."""
        fewer = copy(self)
        fewer.members = self.members[:count]
        return fewer

    @torch.inference_mode()
    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        """The probability of each class; or the mean and the quantiles of a number, on its own scale."""
        order = torch.from_numpy(np.lexsort(values.numpy().T))  # see _pad
        values = values[order]
        together = [number for number in range(len(self.members)) if not self.is_local(number)]
        parts: dict[int, list[Tensor]] = {number: [] for number in range(len(self.members))}
        for rows in torch.arange(len(values)).split(self._rows_per_pass(self.members[0])):
            for number, part in zip(together, self._predict_global(together, values[rows]), strict=True):
                parts[number].append(part)
        for number in parts.keys() - together:
            passes = list(self.passes(number, values))
            local = torch.cat([self._predict([number], [context], values[rows])[0] for rows, context in passes])
            parts[number].append(local[torch.cat([rows for rows, _ in passes]).argsort()])
        predictions = [self.decode(self.members[number], torch.cat(each)) for number, each in parts.items()]
        return torch.stack(predictions).mean(0)[order.argsort()]

    def _predict_global(self, numbers: list[int], values: Tensor) -> list[Tensor]:
        """What each of the members predicts for some rows from the context of the whole table."""
        keys = [(number, GLOBAL) for number in numbers]
        stacked = self.contexts.stacked(keys) if len(values) <= FEW_ROWS and len(keys) > 1 else None
        contexts = self.contexts.get(keys)
        if stacked is None:
            return self._predict(numbers, contexts, values)
        features = self._describe_once(numbers, contexts, [_pad(values)])
        tables = [context.in_order(features[context.fit][0]) for context in contexts]
        size = -(-len(tables) // torch.get_num_threads())
        shares = [slice(start, start + size) for start in range(0, len(tables), size)]
        jobs = [partial(_predict_tables, self.model, stacked.tables(some), tables[some]) for some in shares]
        return [table[: len(values)] for part in side_by_side(jobs) for table in part]

    def _describe_once(
        self, numbers: list[int], contexts: list[TableContext], pieces: Sequence[Tensor]
    ) -> dict[int, list[RowFeatures]]:
        """The features of each piece by the closed forms of each fit."""
        fitted = {context.fit: (number, context) for number, context in zip(numbers, contexts, strict=True)}
        jobs = [
            partial(_describe, context.closed_forms, self.members[number].select(piece))
            for number, context in fitted.values()
            for piece in pieces
        ]
        described = iter(side_by_side(jobs))
        return {key: [next(described) for _ in pieces] for key in fitted}

    def _predict(self, numbers: list[int], contexts: list[TableContext], values: Tensor) -> list[Tensor]:
        """What each of the members predicts for some rows, in pieces that are computed side by side."""
        pieces = _pad(values).split(ROWS_PER_PIECE)
        features = self._describe_once(numbers, contexts, pieces)
        predicted = iter(
            side_by_side(
                [
                    partial(_predict_piece, self.model, context, piece)
                    for context in contexts
                    for piece in features[context.fit]
                ]
            )
        )
        return [torch.cat([next(predicted) for _ in pieces])[: len(values)] for _ in contexts]

    @torch.inference_mode()
    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        """Label attention and the label weights of kernel ridge, mixed by the gate, averaged over members."""
        total = torch.zeros(len(values), len(self.table.values))
        for number, member in enumerate(self.members):
            for query, context in self.passes(number, values):
                chosen = member.select(values[query])
                with listen(self.model.label_attention) as attention, listen(self.model.gate) as gate:
                    _predict_piece(self.model, context, _describe(context.closed_forms, chosen))
                weight = gate["weights"][0, :, 1:]
                total[query[:, None], context.rows] += (1 - weight) * attention["pattern"][0].mean(0)
                by_kernel = context.closed_forms.label_weights(chosen)[0]
                total[query[:, None], context.statistics_rows] += weight * by_kernel
        return total / len(self.members)

    @torch.inference_mode()
    def passes(self, number: int, values: Tensor) -> Iterator[tuple[Tensor, TableContext]]:
        """Which query rows are predicted together, and from which context."""
        groups = {GLOBAL: torch.arange(len(values))}
        if self.is_local(number):
            clusters = self.contexts.clusters_of(number, partial(self._row_states, number))
            cluster = clusters.assign(self._row_states(number, values))
            groups = {one: (cluster == one).nonzero()[:, 0] for one in cluster.unique().tolist()}
        contexts = self.contexts.get((number, one) for one in groups)
        for rows, context in zip(groups.values(), contexts, strict=True):
            for query in rows.split(self._rows_per_pass(self.members[number])):
                yield query, context

    def is_local(self, number: int) -> bool:
        """Whether this member reads the rows near a query row, as the table is too large to be read at once."""
        rows = len(self.members[number].context_rows)
        partial_context = rows < len(self.table.values) and rows <= SHORT_CONTEXT
        return self.settings.local and number == LOCAL_MEMBER and partial_context

    def _row_states(self, number: int, values: Tensor) -> Float[Tensor, "row width"]:
        """Row embeddings before attention between rows."""
        (context,) = self.contexts.get([(number, GLOBAL)])
        member = self.members[number]
        parts = member.select(values).split(min(ROWS_PER_PIECE, self._rows_per_pass(member)), 1)
        return torch.cat(side_by_side([partial(_embed_piece, self.model, context, part) for part in parts]))

    def _rows_per_pass(self, member: Member) -> int:
        """Query rows of one pass, in whole blocks; label statistics of many classes take memory too."""
        rows = CELLS_PER_PASS // ((len(member.columns) + 4) * (1 + self.table.classes // 30))
        return max(BLOCK, rows - rows % BLOCK)

    def decode(self, member: Member, prediction: Tensor) -> Tensor:
        """The network's prediction in the classes, or on the scale, of the table."""
        if member.transform is None:
            return smooth_probabilities(prediction, self.table.classes)[:, member.class_order.argsort()]
        quantiles = prediction[:, 1:].sort(-1).values
        # A nonlinear transform moves the mean, but not the quantiles.
        linear = member.transform.is_linear
        mean = member.transform.inverse(prediction[:, :1]) if linear else member.transform.mean(quantiles)
        return torch.cat([mean, member.transform.inverse(quantiles)], -1)


@torch.inference_mode()
def _describe(closed_forms: ClosedForms, values: Float[Tensor, "one row column"]) -> RowFeatures:
    return RowFeatures.of_queries(closed_forms, values)


@torch.inference_mode()
def _predict_piece(model: InContextModel, context: TableContext, features: RowFeatures) -> Tensor:
    return model.predict(context.encoded, context.in_order(features))[0]


@torch.inference_mode()
def _predict_tables(model: InContextModel, contexts: Context, features: Sequence[RowFeatures]) -> Tensor:
    return model.predict(contexts, RowFeatures.stack(features))


@torch.inference_mode()
def _embed_piece(model: InContextModel, context: TableContext, values: Float[Tensor, "one row column"]) -> Tensor:
    return model.embed_rows(context.encoded, context.in_order(_describe(context.closed_forms, values)))[0]
