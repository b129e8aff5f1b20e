"""Duplicates: whether the heads between rows of a table look rows up (Kossen et al., 2021).

Rows whose target is hidden are shown beside copies of themselves that tell it. Whoever looks there knows the answer.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.parts import listen
from regard.tables.network.masked_cells import CellBatch
from regard.tables.network.scratch import NPTPredictor

MEASURED = 96  # rows of a fitted table whose target is hidden from its own network
Numbers = Int[Tensor, " asked"]
Shares = dict[str, tuple[Tensor, float]]  # by role: of every head, and by chance


def hidden_again(network: NPTPredictor) -> CellBatch:
    """The rows that a fitted network answers by, some of them as if their target were not known."""
    cells = network.table.cells[network.context_rows][None]
    asked = torch.zeros_like(cells, dtype=torch.bool)
    asked[0, :MEASURED, -1] = ~cells[0, :MEASURED, -1].isnan()
    truth = cells.nan_to_num(0.0)
    return CellBatch(truth.masked_fill(asked, 0.0), cells.isnan() | asked, asked, truth, features=0.0)


def beside_duplicates(batch: CellBatch) -> tuple[CellBatch, Numbers, Numbers]:
    """With a copy of every asked row that shows its target; and the numbers of these rows and of their copies."""
    rows = batch.predicted[0, :, -1].nonzero()[:, 0]
    copies = rows.flip(0)  # in another order, so that no place gives them away
    hidden = batch.masked[:, copies].clone()
    hidden[..., -1] = False
    more = CellBatch(batch.truth[:, copies], hidden, torch.zeros_like(hidden), batch.truth[:, copies], batch.features)
    both = {
        name: torch.cat([getattr(batch, name), getattr(more, name)], 1)
        for name in ("cells", "masked", "predicted", "truth")
    }
    places = batch.cells.shape[1] + torch.arange(len(rows)).flip(0)
    return CellBatch(**both, features=batch.features), rows, places


def duplicate_shares(model: nn.Module, batch: CellBatch) -> dict[str, Shares]:
    """For every attention between rows the share of each head on the copy of a row, and on the row itself."""
    shown, rows, places = beside_duplicates(batch)
    with listen(model) as heard:
        model(shown.cells, shown.masked)
    chance = 1 / shown.cells.shape[1]
    return {
        name.removesuffix(".pattern"): {
            "its duplicate": (pattern[0][:, rows, places].mean(-1), chance),
            "itself": (pattern[0][:, rows, rows].mean(-1), chance),
        }
        for name, pattern in heard.items()
        if name.startswith("rows.")
    }
