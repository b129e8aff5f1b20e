"""Duplicates: whether the heads between rows of a table look up rows (Kossen et al., 2021).

Rows with a hidden target are shown beside copies with a visible target. A head that attends to the copy knows the
answer.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.parts import listen
from regard.tables.network.masked_cells import CellBatch
from regard.tables.network.scratch import NPTPredictor

QUERY_ROWS = 96  # rows of a fitted table whose target is hidden from its network
Indices = Int[Tensor, " query"]
Shares = dict[str, tuple[Tensor, float]]  # by role: the share of every head, and that of uniform attention


def hide_targets(network: NPTPredictor) -> CellBatch:
    """The context rows of a fitted network, some of them with a hidden target."""
    cells = network.table.cells[network.context_rows][None]
    queried = torch.zeros_like(cells, dtype=torch.bool)
    queried[0, :QUERY_ROWS, -1] = ~cells[0, :QUERY_ROWS, -1].isnan()
    truth = cells.nan_to_num(0.0)
    return CellBatch(truth.masked_fill(queried, 0.0), cells.isnan() | queried, queried, truth, features=0.0)


def with_duplicates(batch: CellBatch) -> tuple[CellBatch, Indices, Indices]:
    """The batch with a copy of every query row that shows its target; the indices of these rows and of the copies."""
    rows = batch.predicted[0, :, -1].nonzero()[:, 0]
    order = rows.flip(0)  # so that the order of rows does not give the copies away
    hidden = batch.masked[:, order].clone()
    hidden[..., -1] = False
    copies = CellBatch(batch.truth[:, order], hidden, torch.zeros_like(hidden), batch.truth[:, order], batch.features)
    both = {
        name: torch.cat([getattr(batch, name), getattr(copies, name)], 1)
        for name in ("cells", "masked", "predicted", "truth")
    }
    at = batch.cells.shape[1] + torch.arange(len(rows), device=rows.device).flip(0)
    return CellBatch(**both, features=batch.features), rows, at


def duplicate_shares(model: nn.Module, batch: CellBatch) -> dict[str, Shares]:
    """For every attention between rows the share of each head on the copy of a row, and on the row itself."""
    both, rows, copies = with_duplicates(batch)
    with listen(model) as heard:
        model(both.cells, both.masked)
    uniform = 1 / both.cells.shape[1]
    return {
        name.removesuffix(".pattern"): {
            "its duplicate": (pattern[0][:, rows, copies].mean(-1), uniform),
            "itself": (pattern[0][:, rows, rows].mean(-1), uniform),
        }
        for name, pattern in heard.items()
        if name.startswith("rows.")
    }
