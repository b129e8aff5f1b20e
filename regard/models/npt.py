"""Non-Parametric Transformer: the input is the whole table, and rows attend to rows (Kossen et al., 2021).

Attention between rows alternates with attention between the attributes of a row; the cells to predict are masked. As in
the paper, rows are compared as a whole, but all cells share one projection, so that the number of parameters does not
grow with the square of the columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.parts.attention import Attention
from regard.parts.blocks import Block
from regard.parts.cache import KVCache
from regard.parts.cells import CellEmbedding, CellHead
from regard.parts.dropout import Dropout
from regard.parts.init import init_weights
from regard.parts.masks import Padding
from regard.parts.multihead import MultiHead
from regard.parts.table_block import TableContext, table_block
from regard.parts.trunk import Trunk

CellStates = Float[Tensor, "batch row column width"]
Between = Literal["both", "rows", "columns"]


@dataclass(frozen=True, kw_only=True)
class NPT(Trunk):
    reads_tables = True

    categories: tuple[int, ...]  # number of categories of each column; 0 for a numeric column
    alternate: Attention | None = None  # between the attributes of a row, in place of `attention`
    between: Between = "both"  # where there is attention, for ablations

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.categories or min(self.categories) < 0:
            raise ConfigError(f"categories: needs a count for each column, 0 for numbers, not {self.categories}")

    def build(self) -> "NPTModel":
        return NPTModel(self)

    def row_block(self) -> Block:
        return table_block(self, heads=partial(BetweenRows, columns=len(self.categories)))


class NPTModel(nn.Module):
    """`layers` counts pairs of blocks: one between rows and one between attributes."""

    def __init__(self, config: NPT):
        super().__init__()
        self.config = config
        self.cells = CellEmbedding(config.categories, config.width)
        self.drop = Dropout(config.dropout)
        rows, columns = (config.layers * (config.between != without) for without in ("columns", "rows"))
        self.rows = nn.ModuleList(config.row_block() for _ in range(rows))
        self.columns = nn.ModuleList(table_block(config, config.alternate) for _ in range(columns))
        self.norm = config.final_norm()
        self.head = CellHead(config.categories, config.width)
        init_weights(self, [*self.rows, *self.columns], init=config.init)

    def forward(
        self,
        cells: Float[Tensor, "batch row column"],
        masked: Bool[Tensor, "batch row column"],
        valid: Bool[Tensor, "batch row"] | None = None,
    ) -> list[Tensor]:
        """A prediction for every cell of every column; the values of `masked` cells are not used."""
        mask = None if valid is None else Padding(valid)
        x = self._blocks(self.drop(self.cells(cells, masked)), lambda layer, x: self.rows[layer](x, TableContext(mask)))
        return self.head(self.norm(x))

    def encode_context(
        self, cells: Float[Tensor, "batch row column"], masked: Bool[Tensor, "batch row column"]
    ) -> list[KVCache]:
        """Keys and values of the context rows, which attend to each other, for `predict`."""
        context = [KVCache(cells.shape[1]) for _ in self.rows]
        self._with_cache(cells, masked, context, rows=cells.shape[1])
        return context

    def predict(
        self,
        context: Sequence[KVCache],
        cells: Float[Tensor, "batch row column"],
        masked: Bool[Tensor, "batch row column"],
    ) -> list[Tensor]:
        """A prediction for every cell of query rows, which attend to the context rows only."""
        return self.head(self.norm(self._with_cache(cells, masked, context, rows=0)))

    def _with_cache(self, cells: Tensor, masked: Tensor, cache: Sequence[KVCache], rows: int) -> CellStates:
        def between_rows(layer: int, x: CellStates) -> CellStates:
            attended: Tensor = self.rows[layer](x, TableContext(cache=cache[layer], known=rows))
            return attended

        return self._blocks(self.cells(cells, masked), between_rows)

    def _blocks(self, x: CellStates, between_rows: Callable[[int, CellStates], CellStates]) -> CellStates:
        for layer in range(self.config.layers):
            if self.config.between != "columns":
                x = between_rows(layer, x)
            if self.config.between != "rows":
                x = self.columns[layer](x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return x


class BetweenRows(MultiHead):
    """Attention between rows: for each head, the queries (keys, values) of all cells of a row are concatenated.

    Rows that are similar as a whole attend to each other, and each cell receives the cells of its own column.
    """

    def __init__(self, width: int, heads: int, attention: Attention, *, columns: int, **settings: Any):
        super().__init__(width, heads, attention, **settings)
        self.columns = columns
        self.attend = attention.build(heads, self.head_size * columns)

    def heads_first(self, parts: Float[Tensor, "batch row column head size"]) -> Float[Tensor, "batch head row long"]:
        return parts.permute(0, 3, 1, 2, 4).flatten(3)

    def join(self, output: Float[Tensor, "batch head row long"]) -> Float[Tensor, "batch row column width"]:
        cells: Tensor = output.unflatten(3, (self.columns, -1))
        return cells.permute(0, 2, 3, 1, 4).flatten(3)
