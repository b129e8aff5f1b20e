"""Non-Parametric Transformer: the input is the whole table, and rows look at each other (Kossen et al., 2021).

Attention between rows alternates with attention between the attributes of a row; cells that must be predicted are
hidden. Rows are compared as wholes, as in the paper, but every cell is projected by the same weights, so that their
number does not grow with the square of the columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.parts.attention import Attention
from regard.parts.cache import KeyValues
from regard.parts.dropout import Dropout
from regard.parts.embed import CellPredictions, Cells
from regard.parts.masks import Mask, Padding
from regard.parts.multihead import MultiHead
from regard.parts.positions import NoPosition, Position
from regard.parts.start import begin
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
        block = self.table_block()
        assert isinstance(block.attend, MultiHead)
        block.attend = BetweenRows(block.attend, self.attention, len(self.categories))
        return block


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
        begin(self, [*self.rows, *self.columns], quiet=config.quiet)

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

    def read(
        self, cells: Float[Tensor, "batch row column"], hidden: Bool[Tensor, "batch row column"]
    ) -> list[KeyValues]:
        """Known rows by themselves, kept so that `answer` need not read them again."""
        kept = [KeyValues(cells.shape[1]) for _ in self.rows]
        self._keep(cells, hidden, kept, context=cells.shape[1])
        return kept

    def answer(
        self,
        kept: Sequence[KeyValues],
        cells: Float[Tensor, "batch row column"],
        hidden: Bool[Tensor, "batch row column"],
    ) -> list[Tensor]:
        """A prediction for every cell of other rows, which see the known ones and are seen by nobody."""
        return self.predict(self.norm(self._keep(cells, hidden, kept, context=0)))

    def _keep(self, cells: Tensor, hidden: Tensor, kept: Sequence[KeyValues], context: int) -> CellStates:
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


class BetweenRows(nn.Module):
    """Rows look at rows: the heads of all cells of a row, one after the other, are one long query.

    Rows that are alike as a whole find each other, and every cell is told what their cells in its column hold.
    """

    def __init__(self, heads: MultiHead, attention: Attention, columns: int):
        super().__init__()
        self.pattern = heads.pattern  # heard under this name, not as the heads'
        self.heads, self.columns = heads, columns
        count = heads.query.out_features // heads.size
        heads.attend = attention.build(count, heads.size * columns)

    def forward(
        self,
        x: CellStates,
        memory: Float[Tensor, "batch known column width"] | None = None,
        mask: Mask | None = None,
        cache: KeyValues | None = None,
    ) -> CellStates:
        heads = self.heads
        q = self._long(heads.query_norm(self._split(heads.query(x))))
        if memory is not None and cache is not None and cache.length:
            k, v = cache.stored()
        else:
            rows = x if memory is None else memory
            k = self._long(heads.key_norm(self._split(heads.key(rows))))
            v = self._long(self._split(heads.value(rows)))
            if cache is not None:
                k, v = cache.append(k, v)
        k, v = heads.share(k), heads.share(v)
        if self.pattern.watched:
            found, pattern = heads.attend.watch(q, k, v, mask)
            self.pattern(pattern)
        else:
            found = heads.attend(q, k, v, mask)
        found = found.unflatten(3, (self.columns, -1)).permute(0, 2, 3, 1, 4).flatten(3)
        return heads.out(found)

    def _split(self, x: Tensor) -> Float[Tensor, "batch rows column heads size"]:
        return x.unflatten(-1, (-1, self.heads.size))

    def _long(self, x: Tensor) -> Float[Tensor, "batch heads rows long"]:
        return x.permute(0, 3, 1, 2, 4).flatten(3)
