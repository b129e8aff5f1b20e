"""In-context learning on synthetic tables as a task (Hollmann et al., 2023)."""

from dataclasses import dataclass

from regard.tables.network.in_context_loss import InContextObjective


@dataclass(frozen=True)
class InContextTables(InContextObjective):
    """Predict the targets of query rows from context rows."""
