"""The pre-trained network on rows of forecast errors: past errors are context, and nothing is trained."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from regard.tables.encode.table import EncodedTable
from regard.tables.forecast.rows import Rows
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.pretrained import pretrained_model
from regard.tables.predictor import interpolate_quantiles

LEVELS = np.array([0.01, 0.025, 0.05, *np.arange(0.1, 0.95, 0.1), 0.95, 0.975, 0.99])  # of quantiles in between
MEDIAN = len(LEVELS) // 2
MIN_ROWS = 40  # of context: from fewer the network has nothing to learn
MEMBERS = 2


def predict_errors(
    context: Rows, query: Float[np.ndarray, "row column"], weights: str | Path | None, seed: int
) -> Float[np.ndarray, "row level"] | None:
    """Quantiles of the target of query rows; None if there is too little context."""
    known = np.isfinite(context.target)
    if known.sum() < MIN_ROWS or np.ptp(context.target[known]) == 0:
        return None
    cells, target = context.cells[known], context.target[known]
    filled = np.isfinite(cells)
    spread = np.where(filled, cells, -np.inf).max(0) - np.where(filled, cells, np.inf).min(0)
    varied = filled.any(0) & (spread > 0)
    category = torch.zeros(int(varied.sum()), dtype=torch.bool)
    table = EncodedTable(_tensor(cells[:, varied]), category, torch.from_numpy(target), 0)
    predictor = InContextPredictor(pretrained_model(weights), table, Members(MEMBERS), seed)
    prediction = predictor.predict(_tensor(query[:, varied]))
    return interpolate_quantiles(prediction, LEVELS.tolist()).double().numpy()


def _tensor(cells: Float[np.ndarray, "row column"]) -> torch.Tensor:
    return torch.from_numpy(cells).float()
