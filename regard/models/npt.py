"""Non-Parametric Transformer: the input is the whole table, and rows look at each other (Kossen et al., 2021).

Attention between rows alternates with attention between the attributes of a row; cells that must be predicted are
hidden. Between rows each column looks by itself, which keeps the width (and the parameters) that of one cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.core.errors import ConfigError
from regard.parts.cache import KeyValues
from regard.parts.dropout import Dropout
from regard.parts.embed import CellPredictions, Cells
from regard.parts.masks import Padding
from regard.parts.positions import NoPosition, Position
from regard.parts.start import begin
from regard.parts.trunk import Trunk

States4 = Float[Tensor, "batch row column width"]


@dataclass(frozen=True, kw_only=True)
class NPT(Trunk):
    categories: tuple[int, ...]  # of each column; 0 for a column of numbers
    position: Position = NoPosition()

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


class NPTModel(nn.Module):
    """`layers` counts pairs: one block between rows and one between attributes, which is every second."""

    def __init__(self, config: NPT):
        super().__init__()
        self.config = config
        self.cells = Cells(config.categories, config.width)
        self.drop = Dropout(config.dropout)
        self.rows = nn.ModuleList(config.block(0) for _ in range(config.layers))
        self.columns = nn.ModuleList(config.block(1) for _ in range(config.layers))
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
        x = self.drop(self.cells(cells, hidden))
        for between_rows, between_columns in zip(self.rows, self.columns, strict=True):
            x = _along_rows(x, between_rows, valid)
            x = between_columns(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.predict(self.norm(x))

    def read(
        self, cells: Float[Tensor, "batch row column"], hidden: Bool[Tensor, "batch row column"]
    ) -> list[KeyValues]:
        """Known rows by themselves, kept so that `answer` need not read them again."""
        kept = [KeyValues(cells.shape[1]) for _ in self.rows]
        self._look(cells, hidden, kept, context=cells.shape[1])
        return kept

    def answer(
        self,
        kept: Sequence[KeyValues],
        cells: Float[Tensor, "batch row column"],
        hidden: Bool[Tensor, "batch row column"],
    ) -> list[Tensor]:
        """A prediction for every cell of other rows, which see the known ones and are seen by nobody."""
        return self.predict(self.norm(self._look(cells, hidden, kept, context=0)))

    def _look(self, cells: Tensor, hidden: Tensor, kept: Sequence[KeyValues], context: int) -> States4:
        x = self.cells(cells, hidden)
        for between_rows, between_columns, known in zip(self.rows, self.columns, kept, strict=True):
            y = between_rows(x.transpose(1, 2).flatten(0, 1), cache=(known, None), context=context)
            x = y.unflatten(0, (len(cells), -1)).transpose(1, 2)
            x = between_columns(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return x


def _along_rows(x: States4, block: nn.Module, valid: Bool[Tensor, "batch row"] | None) -> States4:
    """Each column is a text whose words are rows."""
    batch, _, columns, _ = x.shape
    mask = None if valid is None else Padding(valid.repeat_interleave(columns, 0))
    return block(x.transpose(1, 2).flatten(0, 1), mask).unflatten(0, (batch, columns)).transpose(1, 2)
