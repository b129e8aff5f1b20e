"""Non-Parametric Transformer: the input is the whole table, and rows look at each other (Kossen et al., 2021).

Attention between rows alternates with attention between the attributes of a row; cells that must be predicted are
hidden. Rows are compared as wholes, as in the paper, but every cell is projected by the same weights, so that their
number does not grow with the square of the columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.parts.attention import Attention
from regard.parts.cache import KVCache
from regard.parts.dropout import Dropout
from regard.parts.embed import CellPredictions, Cells
from regard.parts.init import init_weights
from regard.parts.masks import Padding
from regard.parts.multihead import MultiHead
from regard.parts.positions import NoPosition, Position
from regard.parts.table_block import TableBlock
from regard.parts.trunk import Trunk

CellStates = Float[Tensor, "batch row column width"]
Between = Literal["both", "rows", "columns"]


@dataclass(frozen=True, kw_only=True)
class NPT(Trunk):
    categories: tuple[int, ...]  # of each column; 0 for a column of numbers
    position: Position = NoPosition()
    between: Between = "both"  # where there is attention, to find out what it is worth

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.recall:
            raise ConfigError("recall: rows and columns share one stream, which has no single entry")
        if not self.categories or min(self.categories) < 0:
            raise ConfigError(f"categories: needs a count for each column, 0 for numbers, not {self.categories}")
        if not isinstance(self.position, NoPosition):
            raise ConfigError(f"position: rows of a table have no order, so NoPosition, not {self.position}")

    def build(self) -> "NPTModel":
        return NPTModel(self)

    def row_block(self) -> TableBlock:
        return self.table_block(heads=partial(BetweenRows, columns=len(self.categories)))


class NPTModel(nn.Module):
    """`layers` counts pairs: one block between rows and one between attributes, which is every second."""

    def __init__(self, config: NPT):
        super().__init__()
        self.config = config
        self.cells = Cells(config.categories, config.width)
        self.drop = Dropout(config.dropout)
        rows, columns = (config.layers * (config.between != without) for without in ("columns", "rows"))
        self.rows = nn.ModuleList(config.row_block() for _ in range(rows))
        self.columns = nn.ModuleList(config.table_block(1) for _ in range(columns))
        self.norm = config.last_norm()
        self.predict = CellPredictions(config.categories, config.width)
        init_weights(self, [*self.rows, *self.columns], quiet=config.quiet)

    def forward(
        self,
        cells: Float[Tensor, "batch row column"],
        hidden: Bool[Tensor, "batch row column"],
        valid: Bool[Tensor, "batch row"] | None = None,
    ) -> list[Tensor]:
        """A prediction for every cell of every column; `hidden` cells are those whose value is not shown."""
        mask = None if valid is None else Padding(valid)
        x = self._look(self.drop(self.cells(cells, hidden)), lambda layer, x: self.rows[layer](x, mask))
        return self.predict(self.norm(x))

    def read(self, cells: Float[Tensor, "batch row column"], hidden: Bool[Tensor, "batch row column"]) -> list[KVCache]:
        """Known rows by themselves, kept so that `answer` need not read them again."""
        kept = [KVCache(cells.shape[1]) for _ in self.rows]
        self._keep(cells, hidden, kept, context=cells.shape[1])
        return kept

    def answer(
        self,
        kept: Sequence[KVCache],
        cells: Float[Tensor, "batch row column"],
        hidden: Bool[Tensor, "batch row column"],
    ) -> list[Tensor]:
        """A prediction for every cell of other rows, which see the known ones and are seen by nobody."""
        return self.predict(self.norm(self._keep(cells, hidden, kept, context=0)))

    def _keep(self, cells: Tensor, hidden: Tensor, kept: Sequence[KVCache], context: int) -> CellStates:
        def between_rows(layer: int, x: CellStates) -> CellStates:
            return self.rows[layer](x, cache=kept[layer], context=context)

        return self._look(self.cells(cells, hidden), between_rows)

    def _look(self, x: CellStates, between_rows: Callable[[int, CellStates], CellStates]) -> CellStates:
        for layer in range(self.config.layers):
            if self.config.between != "columns":
                x = between_rows(layer, x)
            if self.config.between != "rows":
                x = self.columns[layer](x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return x


class BetweenRows(MultiHead):
    """Rows look at rows: the heads of all cells of a row, one after the other, are one long query.

    Rows that are alike as a whole find each other, and every cell is told what their cells in its column hold.
    """

    def __init__(self, width: int, heads: int, attention: Attention, *, columns: int, **settings: Any):
        super().__init__(width, heads, attention, **settings)
        self.columns = columns
        self.attend = attention.build(heads, self.head_size * columns)

    def heads_first(self, parts: Float[Tensor, "batch row column head size"]) -> Float[Tensor, "batch head row long"]:
        return parts.permute(0, 3, 1, 2, 4).flatten(3)

    def join(self, found: Float[Tensor, "batch head row long"]) -> Float[Tensor, "batch row column width"]:
        return found.unflatten(3, (self.columns, -1)).permute(0, 2, 3, 1, 4).flatten(3)
