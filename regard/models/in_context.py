"""In-context learning on tables: one forward pass predicts the query rows of a table never seen before.

Rows attend to rows and attributes to attributes as in the Non-Parametric Transformer, with weights that belong to no
single table and are pre-trained on synthetic ones (TabPFN, Hollmann et al., 2023). Cells enter with statistics of their
column; attention between the attributes of a row condenses it into a few summary tokens (TabICL, Qu et al., 2025), so
that attention between rows costs one token a row. Rows also enter with closed-form predictions (ridge, kernel ridge).
Label attention over the context rows predicts, and a gate mixes in the kernel ridge prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.closed_form.closed_forms import ClosedFormPredictions
from regard.closed_form.column_statistics import CELL_FEATURES, RADII, Values
from regard.closed_form.copies import Copies
from regard.closed_form.row_features import RowFeatures
from regard.core.errors import MANY, ConfigError, at_least, at_most
from regard.core.shapes import Keys, States
from regard.parts.attention import Attention, Full, ScalableSoftmax
from regard.parts.cache import KVCache
from regard.parts.column_pass import ColumnBins, ColumnPass, RowCopies
from regard.parts.experts import Feed
from regard.parts.feed import SquaredReLU
from regard.parts.init import init_weights
from regard.parts.label_attention import Gate, LabelAttention
from regard.parts.linear import Linear
from regard.parts.multihead import width_per_head
from regard.parts.table_block import TableContext, table_block
from regard.parts.trunk import Trunk

DIGITS = 10  # a class is embedded by the digits of its number, so that weights trained on ten classes cover a hundred
COLUMN_CODE = 8  # length of the random codes that distinguish columns
TARGET_BINS = 8  # of the range of a numeric target
CELLS_PER_PIECE = 1536  # tokens of a cell block at prediction: what it computes of them stays in a processor's cache

ColumnCodes = Float[Tensor, "table column code"]


@dataclass(frozen=True, kw_only=True)
class InContext(Trunk):
    """`width`, `layers` and `heads` are those of the attention between rows."""

    reads_tables = True

    width: int = 192
    layers: int = 6
    heads: int = 6
    cell_width: int = 64
    cell_layers: int = 2
    cell_heads: int = 2
    column_pass: ColumnPass | None = None  # after the first cell layer
    summary_tokens: int = 3  # that condense the cells of a row
    thinking_rows: int = 16  # learned rows beside those of the table
    quantiles: int = 33  # of a numeric prediction
    attention: Attention = Full(scale=ScalableSoftmax())
    feed: Feed = SquaredReLU(hidden=384)
    dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, cell_layers=self.cell_layers, summary_tokens=self.summary_tokens, thinking_rows=self.thinking_rows)
        at_most(MANY, cell_layers=self.cell_layers)
        at_least(3, quantiles=self.quantiles)
        width_per_head(self.cell_width, self.cell_heads)
        if not isinstance(self.attention, Full):
            raise ConfigError("attention: every row attends to all context rows, so Full")

    def build(self) -> "InContextModel":
        return InContextModel(self)


@dataclass(frozen=True)
class Context:
    """The encoded context rows of a table: all that predicting query rows needs."""

    column_codes: ColumnCodes
    column_bins: ColumnBins | None  # of the column pass
    cache: Sequence[KVCache]
    keys: Keys  # of label attention
    labels: Float[Tensor, "table row label"]
    classes: int  # 0: regression

    @classmethod
    def stack(cls, contexts: Sequence["Context"]) -> "Context":
        """Contexts with the same numbers of rows, columns and classes as one of several tables."""
        first = contexts[0]
        bins = [each.column_bins for each in contexts if each.column_bins is not None]
        return cls(
            torch.cat([each.column_codes for each in contexts]),
            ColumnBins.stack(bins) if bins else None,
            [KVCache.stack(layers) for layers in zip(*(each.cache for each in contexts), strict=True)],
            torch.cat([each.keys for each in contexts]),
            torch.cat([each.labels for each in contexts]),
            first.classes,
        )

    def tables(self, some: slice) -> "Context":
        """Some of the tables, in the same memory."""
        return replace(
            self,
            column_codes=self.column_codes[some],
            column_bins=None if self.column_bins is None else self.column_bins.tables(some),
            cache=[layer.view(some) for layer in self.cache],
            keys=self.keys[some],
            labels=self.labels[some],
        )


class InContextModel(nn.Module):
    def __init__(self, config: InContext):
        super().__init__()
        self.config = config
        cell = config.cell_width
        self.cell_features = Linear(CELL_FEATURES, cell)
        self.class_means, self.number_means = (Linear(len(RADII) * (cell // 2 + 1), cell) for _ in range(2))
        self.column_code = Linear(COLUMN_CODE, cell, bias=False)
        self.class_units, self.class_tens = nn.Embedding(DIGITS, cell // 2), nn.Embedding(DIGITS, cell // 2)
        self.number = Linear(2 + TARGET_BINS, cell // 2)
        self.summary_tokens = nn.Parameter(torch.randn(config.summary_tokens, cell) * cell**-0.5)
        inner = replace(
            config, width=cell, heads=config.cell_heads, feed=SquaredReLU(hidden=2 * cell), attention=Full()
        )
        self.cells = nn.ModuleList(table_block(inner) for _ in range(config.cell_layers))
        extra = config.column_pass
        self.column_pass = None if extra is None else extra.build(cell, cell // 2)
        self.cells_norm = config.norm.build(cell)
        self.row = Linear(config.summary_tokens * cell, config.width)
        self.label, self.ridge_class = (Linear(cell // 2, config.width) for _ in range(2))
        self.ridge_number = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        self.kernel_ridge_class = Linear(cell // 2, config.width)
        self.kernel_ridge_number = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        self.query_token = nn.Parameter(torch.zeros(config.width))  # in place of the label of a query row
        self.thinking_rows = nn.Parameter(torch.randn(config.thinking_rows, config.width) * config.width**-0.5)
        self.rows = nn.ModuleList(table_block(config) for _ in range(config.layers))
        self.norm = config.final_norm()
        self.label_attention = LabelAttention(config.width, config.heads)
        self.distribution = Linear(config.width, config.quantiles + 2)  # ridge gate, mean and quantiles
        self.gate = Gate(config.width)  # weight of the kernel ridge prediction
        init_weights(self, self.cells, self.rows, init=config.init)
        if self.column_pass is not None:
            self.column_pass.start_as_identity()

    def forward(
        self,
        values: Values,
        category: Bool[Tensor, "table column"],
        target: Float[Tensor, "table context"],
        classes: int,
        column_codes: ColumnCodes,
        source: Int[Tensor, " context"] | None = None,
    ) -> Float[Tensor, "table query prediction"]:
        """Predictions for the rows of `values` after those with a `target`, in one pass over all rows.

        They are class probabilities or, if `classes` is 0, the mean and the quantiles of a number, for targets whose
        context rows have mean 0 and standard deviation 1. Context rows with the same `source` are copies.
        """
        context = target.shape[1]
        labels = label_features(target, classes)
        with torch.no_grad():
            same = Copies.of(source)
            features = RowFeatures.of_table(values, category, labels, classes, same)
            copies = None if same is None else same.of_each.expand(len(values), -1)
        x, _ = self._embed(features, column_codes, classes, labels, copies=copies)
        queries = self.query_token.expand(x.shape[0], x.shape[1] - context, -1)
        x = x + torch.cat([self._label(labels, classes), queries], 1)
        x = torch.cat([self.thinking_rows.expand(x.shape[0], -1, -1), x], 1)
        thinking = len(self.thinking_rows)
        for block in self.rows:
            x = block(x, TableContext(known=thinking + context))
        x = self.norm(x)[:, thinking:]
        keys = self.label_attention.keys(x[:, :context])
        return self._predict(x[:, context:], keys, labels, classes, features.closed[:, context:])

    def encode_context(
        self,
        features: RowFeatures,
        labels: Float[Tensor, "table row label"],
        classes: int,
        column_codes: ColumnCodes,
        copies: RowCopies | None = None,
    ) -> Context:
        """The context rows, encoded once for any number of calls of `predict`."""
        x, column_bins = self._embed(features, column_codes, classes, labels, copies=copies)
        x = torch.cat([self.thinking_rows.expand(x.shape[0], -1, -1), x + self._label(labels, classes)], 1)
        cache = [KVCache(x.shape[1]) for _ in self.rows]
        for block, buffer in zip(self.rows, cache, strict=True):
            x = block(x, TableContext(cache=buffer, known=x.shape[1]))
        keys = self.label_attention.keys(self.norm(x)[:, len(self.thinking_rows) :])
        return Context(column_codes, column_bins, cache, keys, labels, classes)

    def embed_rows(self, context: Context, features: RowFeatures) -> States:
        """States of query rows before attention between rows."""
        return self._embed(features, context.column_codes, context.classes, column_bins=context.column_bins)[0]

    def predict(self, context: Context, features: RowFeatures) -> Float[Tensor, "table query prediction"]:
        """Predictions for query rows of the same table."""
        x = self.embed_rows(context, features) + self.query_token
        for block, buffer in zip(self.rows, context.cache, strict=True):
            x = block(x, TableContext(cache=buffer, known=0))
        return self._predict(self.norm(x), context.keys, context.labels, context.classes, features.closed)

    def _embed(
        self,
        features: RowFeatures,
        column_codes: ColumnCodes,
        classes: int,
        labels: Tensor | None = None,
        column_bins: ColumnBins | None = None,
        copies: RowCopies | None = None,
    ) -> tuple[States, ColumnBins | None]:
        """A state for every row, and the bins of the column pass.

        `labels` and `copies` are those of the first rows. The bins are fitted to these rows unless they are given.
        """
        mean, count = features.label_means[..., :-1], features.label_means[..., -1:]
        means = torch.cat([self._embed_label(mean, classes), count], -1).flatten(3)
        similar = self.class_means(means) if classes else self.number_means(means)
        x = self.cell_features(features.cells) + similar + self.column_code(column_codes)[:, None]
        embedded = None if labels is None else self._embed_label(labels, classes)
        x, column_bins = self._mix_cells(x, embedded, column_bins, copies)
        row = self.row(self.cells_norm(x).flatten(2))
        return row + self._embed_closed_forms(features.closed, classes), column_bins

    def _mix_cells(
        self,
        cells: Float[Tensor, "table row column cell"],
        labels: Tensor | None,
        column_bins: ColumnBins | None,
        copies: RowCopies | None,
    ) -> tuple[Float[Tensor, "table row summary cell"], ColumnBins | None]:
        """Summary tokens of each row, after attention between its cells."""
        tables, summaries = cells.shape[0], len(self.summary_tokens)
        x = cells.flatten(0, 1)
        x = torch.cat([self.summary_tokens.expand(x.shape[0], -1, -1), x], 1)
        for number, block in enumerate(self.cells, 1):
            x = _in_pieces(block, x, summaries if number == len(self.cells) else None)
            if self.column_pass is not None and number == 1:
                x, column_bins = self.column_pass(x.unflatten(0, (tables, -1)), labels, column_bins, copies)
                x = x.flatten(0, 1)
        return x.unflatten(0, (tables, -1)), column_bins

    def _embed_label(self, labels: Tensor, classes: int) -> Tensor:
        """Class probabilities, or the features of a number, as a vector of fixed width."""
        if not classes:
            return self.number(labels)
        number = torch.arange(classes, device=labels.device)
        return labels.matmul(self.class_units(number % DIGITS) + self.class_tens(number // DIGITS % DIGITS))

    def _embed_closed_forms(self, closed: ClosedFormPredictions, classes: int) -> States:
        ridge, kernel = closed.unbind(2)
        if not classes:
            return ridge * self.ridge_number + kernel * self.kernel_ridge_number
        by_ridge = self.ridge_class(self._embed_label(ridge, classes))
        return by_ridge + self.kernel_ridge_class(self._embed_label(kernel, classes))

    def _label(self, labels: Tensor, classes: int) -> States:
        return self.label(self._embed_label(labels, classes))

    def _predict(
        self, queries: States, keys: Keys, labels: Tensor, classes: int, closed: ClosedFormPredictions
    ) -> Tensor:
        ridge, kernel = closed.unbind(2)
        gate = self.gate(queries)
        if classes:
            kernel = kernel.clamp(min=0)  # a regression on indicators is not bounded by 0
            attended: Tensor = self.label_attention(queries, keys, labels)
            return torch.lerp(attended, kernel / kernel.sum(-1, keepdim=True), gate)
        attended = self.label_attention(queries, keys, labels[..., :1])
        ridge_gate, offsets = self.distribution(queries).float().split([1, self.config.quantiles + 1], -1)
        return torch.lerp(torch.lerp(attended, ridge, ridge_gate.sigmoid()), kernel, gate).add(offsets)


def _in_pieces(block: nn.Module, x: Float[Tensor, "row cell width"], queries: int | None) -> Tensor:
    """A cell block, which treats each row by itself, over a few rows at a time: several times faster at prediction."""
    context = TableContext(queries=queries)
    if torch.is_grad_enabled() or torch.compiler.is_exporting():  # how many pieces depends on the rows
        whole: Tensor = block(x, context)
        return whole
    pieces = x.split(max(1, CELLS_PER_PIECE // x.shape[1]))
    return torch.cat([block(piece, context) for piece in pieces])


def label_features(target: Float[Tensor, "table context"], classes: int) -> Float[Tensor, "table context label"]:
    """One-hot classes; or of a number: itself, its square, and the bin of its rank, one-hot."""
    if classes:
        return nn.functional.one_hot(target.long(), classes).float()
    ascending, sought = target.sort(-1).values, target.contiguous()
    first, last = torch.searchsorted(ascending, sought), torch.searchsorted(ascending, sought, right=True)
    bins: Int[Tensor, "table context"] = (first + last) * TARGET_BINS // (2 * target.shape[1])  # ties share a bin
    one_hot = nn.functional.one_hot(bins.clamp(max=TARGET_BINS - 1), TARGET_BINS)
    return torch.cat([target[..., None], target.square()[..., None], one_hot], -1)
