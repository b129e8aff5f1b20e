"""In-context prediction: the pre-trained network with the context rows of one table, encoded once for many queries."""

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
from regard.parts.taps import listen
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Member, context_size, draw_member
from regard.tables.network.in_context_loss import smooth_probabilities
from regard.tables.network.local_context import MAX_CLUSTERS, Clusters, find_clusters

CELLS_PER_PASS = 60_000  # of query rows, which bounds memory
MAX_CONTEXTS = 24  # encoded contexts that are kept
BLOCK = 64  # least number of query rows of a pass
GLOBAL = -1  # the context of the whole table, in place of the number of a cluster
LOCAL_MEMBER = 1  # the member that uses local context
MAX_CLUSTERED = 20_000  # rows that are clustered


@dataclass(frozen=True)
class Members:
    """Which ensemble members a predictor has: `count` of them, numbered from `first`."""

    count: int
    first: int = 0
    local: bool = False  # whether one member uses local context, if the table is too large for one pass


@dataclass(frozen=True)
class TableContext:
    """An encoded context: of the whole table, or of a cluster of it."""

    rows: Tensor  # context rows
    statistics_rows: Tensor  # rows of the closed forms
    encoded: Context


class ClosedFormCache:
    """Closed forms depend on no weights: members and networks that see the same rows and columns share them."""

    def __init__(self) -> None:
        self._fitted: dict[bytes, ClosedForms] = {}

    def get(self, member: Member, fit: Callable[[], ClosedForms]) -> ClosedForms:
        key = member.statistics_key
        if key not in self._fitted:
            self._fitted[key] = fit()
        return self._fitted[key]


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
        self.members = [draw_member(table, members.first + number, seed) for number in range(members.count)]
        self._contexts: dict[tuple[int, int], TableContext] = {}
        self._clusters: dict[int, Clusters] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Encoded contexts can be computed again, and would make a pickle many times as large."""
        return {**self.__dict__, "_contexts": {}, "_clusters": {}, "closed_forms": ClosedFormCache()}

    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row prediction"]:
        """The probability of each class; or the mean and the quantiles of a number, on its own scale."""
        order = torch.from_numpy(np.lexsort(values.numpy().T))  # see _pad
        predictions = [self._predict(number, values[order]) for number in range(len(self.members))]
        return torch.stack(predictions).mean(0)[order.argsort()]

    @torch.inference_mode()
    def _predict(self, number: int, values: Tensor) -> Tensor:
        member = self.members[number]
        rows, parts = [], []
        for query, context in self.passes(number, values):
            rows.append(query)
            parts.append(self.model.predict(context.encoded, member.select(_pad(values[query])))[0, : len(query)])
        return self._decode(member, torch.cat(parts)[torch.cat(rows).argsort()])

    @torch.inference_mode()
    def row_weights(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row context"]:
        """Label attention and the label weights of kernel ridge, mixed by the gate, averaged over members."""
        total = torch.zeros(len(values), len(self.table.values))
        for number, member in enumerate(self.members):
            for query, context in self.passes(number, values):
                chosen = member.select(values[query])
                with listen(self.model.label_attention) as attention, listen(self.model.gate) as gate:
                    self.model.predict(context.encoded, chosen)
                weight = gate["weights"][0, :, 1:]
                total[query[:, None], context.rows] += (1 - weight) * attention["pattern"][0].mean(0)
                by_kernel = context.encoded.closed_forms.label_weights(chosen)[0]
                total[query[:, None], context.statistics_rows] += weight * by_kernel
        return total / len(self.members)

    @torch.inference_mode()
    def passes(self, number: int, values: Tensor) -> Iterator[tuple[Tensor, TableContext]]:
        """Which query rows are predicted together, and from which context."""
        groups = [(GLOBAL, torch.arange(len(values)))]
        if self._is_local(number):
            cluster = self._clusters_of(number).assign(self._row_states(number, values))
            groups = [(one, (cluster == one).nonzero()[:, 0]) for one in cluster.unique().tolist()]
        for one, rows in groups:
            context = self._context(number, one)
            for query in rows.split(self._rows_per_pass(self.members[number])):
                yield query, context

    def _is_local(self, number: int) -> bool:
        partial = len(self.members[number].context_rows) < len(self.table.values)
        return self.settings.local and number == LOCAL_MEMBER and partial

    def _context(self, number: int, cluster: int) -> TableContext:
        """The encoded context of a member, cached; the least recently used one is dropped."""
        context = self._contexts.pop((number, cluster), None)
        if context is None:
            member = self.members[number]
            context = (
                self._global_context(member)
                if cluster == GLOBAL
                else self._local_context(member, self._cluster_rows(number, cluster))
            )
            if len(self._contexts) >= max(MAX_CONTEXTS, len(self.members) + MAX_CLUSTERS):
                self._contexts.pop(next(iter(self._contexts)))
        self._contexts[number, cluster] = context
        return context

    def _global_context(self, member: Member) -> TableContext:
        fitted = member
        if len(member.statistics_rows) > len(member.context_rows):
            # Closed forms of many rows are slow: they are fitted once for all members, whatever their class order.
            fitted = replace(member, class_order=member.class_order.sort().values)
        closed_forms = self.closed_forms.get(
            fitted, lambda: fit_closed_forms(*self._inputs(fitted, member.statistics_rows))
        )
        closed_forms = closed_forms.subset(torch.searchsorted(member.statistics_rows, member.context_rows))
        if fitted is not member and self.table.classes:
            closed_forms = closed_forms.permute_classes(member.class_order)
        inputs = self._inputs(member, member.context_rows)
        encoded = self.model.encode_context(*inputs, member.column_codes, closed_forms)
        return TableContext(member.context_rows, member.statistics_rows, encoded)

    def _local_context(self, member: Member, rows: Tensor) -> TableContext:
        return TableContext(rows, rows, self.model.encode_context(*self._inputs(member, rows), member.column_codes))

    def _inputs(self, member: Member, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
        """Cells, categorical columns, targets and number of classes of some rows, as the network takes them."""
        table = self.table.take(rows)
        category = table.category[member.columns][None]
        return member.select(table.values), category, member.encode_target(table.target), table.classes

    def _cluster_rows(self, number: int, cluster: int) -> Tensor:
        """The rows of a cluster and some of the whole table, so that the global picture is not lost."""
        near = self._clusters_of(number).rows[cluster]
        everywhere = self.members[number].context_rows
        some = everywhere[:: -(-len(everywhere) // (context_size(self.table) - len(near)))]
        return torch.cat([near, some]).unique()

    def _clusters_of(self, number: int) -> Clusters:
        if number not in self._clusters:
            count = len(self.table.values)
            some = torch.linspace(0, count - 1, min(count, MAX_CLUSTERED)).round().long()
            states = self._row_states(number, self.table.values[some])
            clusters = find_clusters(states, context_size(self.table) * 2 // 3, seed_for("near", number))
            self._clusters[number] = replace(clusters, rows=some[clusters.rows])
        return self._clusters[number]

    def _row_states(self, number: int, values: Tensor) -> Float[Tensor, "row width"]:
        """Row embeddings before attention between rows."""
        member = self.members[number]
        context = self._context(number, GLOBAL).encoded
        parts = values.split(self._rows_per_pass(member))
        return torch.cat([self.model.embed_rows(context, member.select(part))[0][0] for part in parts])

    def _rows_per_pass(self, member: Member) -> int:
        """Query rows of one pass, in whole blocks; label statistics of many classes take memory too."""
        rows = CELLS_PER_PASS // ((len(member.columns) + 4) * (1 + self.table.classes // 30))
        return max(BLOCK, rows - rows % BLOCK)

    def _decode(self, member: Member, prediction: Tensor) -> Tensor:
        """The network's prediction in the classes, or on the scale, of the table."""
        if member.transform is None:
            return smooth_probabilities(prediction, self.table.classes)[:, member.class_order.argsort()]
        quantiles = member.transform.inverse(prediction[:, 1:].sort(-1).values)
        # A nonlinear transform moves the mean; that of evenly spaced quantiles is close to it.
        linear = member.transform.is_linear
        mean = member.transform.inverse(prediction[:, :1]) if linear else quantiles.mean(-1, keepdim=True)
        return torch.cat([mean, quantiles], -1)
