"""Encoded contexts: the context rows of each ensemble member, read by the network once and kept for many queries."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.closed_form import ClosedForms, RowFeatures, fit_closed_forms
from regard.core.machine import seed_for
from regard.models.in_context import Context, InContextModel, label_features
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Member, context_size
from regard.tables.network.local_context import MAX_CLUSTERS, Clusters, find_clusters
from regard.tables.threads import side_by_side

MAX_CONTEXTS = 24  # that are kept
GLOBAL = -1  # the context of the whole table, in place of the number of a cluster
MAX_CLUSTERED = 20_000  # rows that are clustered
MAX_STACKED_CELLS = 16_000  # of a context that is read together with others

Key = tuple[int, int]  # number of a member, and of a cluster or GLOBAL


@dataclass(frozen=True)
class TableContext:
    """An encoded context: of the whole table, or of a cluster of it."""

    rows: Tensor  # context rows
    statistics_rows: Tensor  # rows of the closed forms
    closed_forms: ClosedForms
    class_order: Int[Tensor, " label"] | None  # of the member, if the closed forms have another one
    encoded: Context

    @property
    def fit(self) -> int:
        """Equal for contexts whose closed forms are those of one fit, which describe query rows alike."""
        return id(self.closed_forms.columns)

    def in_order(self, features: RowFeatures) -> RowFeatures:
        """Features by these closed forms as the network reads them."""
        return features if self.class_order is None else features.permute_classes(self.class_order)


class ClosedFormCache:
    """Closed forms depend on no weights: members and networks that see the same rows and columns share them."""

    def __init__(self) -> None:
        self._fitted: dict[bytes, ClosedForms] = {}

    def get(self, member: Member, fit: Callable[[], ClosedForms]) -> ClosedForms:
        key = member.statistics_key
        if key not in self._fitted:
            self._fitted[key] = fit()
        return self._fitted[key]


class Contexts:
    """The encoded contexts of a network and a table; the least recently used ones are dropped."""

    def __init__(
        self, model: InContextModel, table: EncodedTable, members: list[Member], closed_forms: ClosedFormCache
    ):
        self.model, self.table, self.members, self.closed_forms = model, table, members, closed_forms
        self._encoded: dict[Key, TableContext] = {}
        self._stacked: tuple[list[Context], Context] | None = None  # contexts that are the tables of another
        self._clusters: dict[int, Clusters] = {}

    def get(self, keys: Iterable[Key]) -> list[TableContext]:
        """The contexts of these members and clusters; those that are not kept are encoded side by side."""
        keys = list(keys)
        missing = [key for key in keys if key not in self._encoded]
        jobs = self._jobs(missing)
        total = torch.get_num_threads()
        parts = side_by_side(jobs, max(1, total // len(jobs))) if jobs else []
        encoded = dict(zip(missing, (context for part in parts for context in part), strict=True))
        for key in keys:
            self._encoded[key] = self._encoded.pop(key) if key in self._encoded else encoded[key]
        while len(self._encoded) > max(MAX_CONTEXTS, len(self.members) + MAX_CLUSTERS):
            self._encoded.pop(next(iter(self._encoded)))
        return [self._encoded[key] if key in self._encoded else encoded[key] for key in keys]

    def stacked(self, keys: Sequence[Key]) -> Context | None:
        """The encoded contexts as one of several tables, for queries so few that one table would take as long.

        From then on they share its memory. None if their shapes differ.
        """
        contexts = self.get(keys)
        shapes = {(len(each.rows), each.encoded.column_codes.shape[1]) for each in contexts}
        if len(shapes) > 1:
            return None
        tables, stack = self._stacked or ([], None)
        if len(tables) != len(contexts) or any(a is not b.encoded for a, b in zip(tables, contexts, strict=True)):
            stack = Context.stack([each.encoded for each in contexts])
            tables = [stack.tables(slice(number, number + 1)) for number in range(len(contexts))]
            self._stacked = tables, stack
            for key, each, table in zip(keys, contexts, tables, strict=True):
                self._encoded[key] = replace(each, encoded=table)
        return stack

    def clusters_of(self, number: int, row_states: Callable[[Tensor], Tensor]) -> Clusters:
        """The clusters of a member, by the row embeddings that `row_states` gives."""
        if number not in self._clusters:
            count = len(self.table.values)
            some = torch.linspace(0, count - 1, min(count, MAX_CLUSTERED)).round().long()
            states: Float[Tensor, "row width"] = row_states(self.table.values[some])
            clusters = find_clusters(states, context_size(self.table) * 2 // 3, seed_for("near", number))
            self._clusters[number] = replace(clusters, rows=some[clusters.rows])
        return self._clusters[number]

    def _jobs(self, keys: list[Key]) -> list[Callable[[], list[TableContext]]]:
        """How to encode these contexts, in their order. Closed forms are fitted first, with all threads, and shared."""
        if any(cluster != GLOBAL for _, cluster in keys):
            return [partial(self._local, self.members[number], self._cluster_rows(number, one)) for number, one in keys]
        described: dict[tuple[int, bytes], RowFeatures] = {}
        contexts = []
        for number, _ in keys:
            member = self.members[number]
            fitted = self._shared(member)
            closed_forms = self.closed_forms.get(fitted, partial(self._fit, fitted, member.statistics_rows))
            closed_forms = closed_forms.subset(torch.searchsorted(member.statistics_rows, member.context_rows))
            key = (id(closed_forms.columns), member.context_rows.numpy().tobytes())
            if key not in described:
                described[key] = self._describe(fitted, member.context_rows, closed_forms)
            order = None if fitted is member else member.class_order
            contexts.append(Unread(member, member.context_rows, closed_forms, order, described[key]))
        return [partial(self._encode, part) for part in _together(contexts, torch.get_num_threads())]

    def _shared(self, member: Member) -> Member:
        """The member with the order of classes that its closed forms are fitted in.

        It is that of the table, so that members share them. Only if there are few rows, several classes and categories,
        whose target statistics are those of the first few classes, members differ.
        """
        if not self.table.classes:
            return member
        many = len(member.statistics_rows) > len(member.context_rows)
        if many or self.table.classes <= 2 or not self.table.category[member.columns].any():
            return replace(member, class_order=member.class_order.sort().values)
        return member

    @torch.inference_mode()
    def _local(self, member: Member, rows: Tensor) -> list[TableContext]:
        member = replace(member, statistics_rows=rows)
        closed_forms = self._fit(member, rows)
        features = self._describe(member, rows, closed_forms)
        return self._encode([Unread(member, rows, closed_forms, None, features)])

    @torch.inference_mode()
    def _encode(self, contexts: Sequence["Unread"]) -> list[TableContext]:
        """The network reads contexts of the same shape in one pass."""
        encoded = self.model.encode_context(
            RowFeatures.stack([each.in_order() for each in contexts]),
            torch.cat([self._labels(each.member, each.rows) for each in contexts]),
            self.table.classes,
            torch.cat([each.member.column_codes for each in contexts]),
            self._copies([each.rows for each in contexts]),
        )
        return [
            TableContext(
                each.rows,
                each.member.statistics_rows,
                each.closed_forms,
                each.class_order,
                encoded.tables(slice(number, number + 1)),
            )
            for number, each in enumerate(contexts)
        ]

    @torch.inference_mode()
    def _fit(self, member: Member, rows: Tensor) -> ClosedForms:
        category = self.table.category[member.columns][None]
        values = member.select(self.table.values[rows])
        labels, copies = self._labels(member, rows), self.table.copies(rows)
        return fit_closed_forms(values, category, labels, self.table.classes, copies)

    @torch.inference_mode()
    def _describe(self, member: Member, rows: Tensor, closed_forms: ClosedForms) -> RowFeatures:
        values, copies = member.select(self.table.values[rows]), self.table.copies(member.statistics_rows)
        # Those that the closed forms were fitted to, of which a large table has more than context rows.
        places = torch.searchsorted(member.statistics_rows, rows)
        times = None if copies is None else copies.of_each[places]
        return RowFeatures.of_context(closed_forms, values, self._labels(member, rows), times)

    def _copies(self, contexts: Sequence[Tensor]) -> Float[Tensor, "table context"] | None:
        """How many copies of each context row are in its context."""
        if self.table.source is None:
            return None
        copies = [self.table.copies(rows) for rows in contexts]
        pairs = zip(contexts, copies, strict=True)
        return torch.stack([torch.ones(len(rows)) if one is None else one.of_each for rows, one in pairs])

    def _labels(self, member: Member, rows: Tensor) -> Float[Tensor, "one row label"]:
        return label_features(member.encode_target(self.table.target[rows]), self.table.classes)

    def _cluster_rows(self, number: int, cluster: int) -> Tensor:
        """The rows of a cluster and some of the whole table, so that the global picture is not lost."""
        near = self._clusters[number].rows[cluster]
        everywhere = self.members[number].context_rows
        some = everywhere[:: -(-len(everywhere) // (context_size(self.table) - len(near)))]
        return torch.cat([near, some]).unique()


@dataclass(frozen=True)
class Unread:
    """A context before the network has read it."""

    member: Member
    rows: Tensor
    closed_forms: ClosedForms
    class_order: Int[Tensor, " label"] | None
    features: RowFeatures

    def in_order(self) -> RowFeatures:
        return self.features if self.class_order is None else self.features.permute_classes(self.class_order)


def _together(contexts: Sequence[Unread], threads: int) -> list[Sequence[Unread]]:
    """The contexts that each thread reads in one pass: several small ones, as few operations cost least."""
    shapes = {each.features.cells.shape for each in contexts}
    small = all(shape[1] * shape[2] <= MAX_STACKED_CELLS for shape in shapes)
    size = -(-len(contexts) // threads) if small and len(shapes) == 1 else 1
    return [contexts[start : start + size] for start in range(0, len(contexts), size)]
