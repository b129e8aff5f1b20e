"""Masked cells of one table as a task (Kossen et al., 2021)."""

from dataclasses import dataclass

from regard.tables.network.masked_cells import MaskedCellsObjective


@dataclass(frozen=True)
class MaskedCells(MaskedCellsObjective):
    """Predict the masked cells of a table, features and target."""
