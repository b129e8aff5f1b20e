"""Direction of a column: how the prediction moves as its cells change, in a few words."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regard.tables.encode.column import Column

CLEAR = 0.4  # correlation of the change of a cell's rank with the change of the prediction
NOTHING = 1e-9  # relative to the largest output


@dataclass(frozen=True)
class Outputs:
    """The outputs of a predictor that are shown: a number, the probability of one of two classes, or of every class."""

    places: tuple[int, ...]
    names: tuple[str, ...]

    def of(self, predicted: Float[np.ndarray, "*shape prediction"]) -> Float[np.ndarray, "*shape output"]:
        return predicted[..., list(self.places)]


def describe_direction(
    column: Column,
    before: Float[np.ndarray, "row cell"],
    after: Float[np.ndarray, "repeat row cell"],
    change: Float[np.ndarray, "repeat row output"],
    outputs: Outputs,
) -> str:
    """In words, from the changes of predictions when cells `before` became cells `after`."""
    old = np.broadcast_to(before[:, 0], after.shape[:2]).reshape(-1)
    new, change = after[..., 0].reshape(-1), change.reshape(-1, change.shape[-1])
    known = ~np.isnan(old) & ~np.isnan(new) & (old != new)
    if column.kind == "text" or not known.any() or not (np.abs(change[known]) > NOTHING).any():
        return ""
    if column.kind == "category":
        return _categories(column, new[known], change[known], outputs)
    return _trend(old[known], new[known], change[known], outputs)


def _trend(old: np.ndarray, new: np.ndarray, change: Float[np.ndarray, "row output"], outputs: Outputs) -> str:
    ranks = np.unique(np.concatenate([old, new]))
    step = (np.searchsorted(ranks, new) - np.searchsorted(ranks, old)).astype(float)[:, None]
    norm = np.sqrt((step**2).sum() * (change**2).sum(0))
    correlation = (step * change).sum(0) / np.maximum(norm, 1e-300)
    if len(outputs.places) == 1:
        if abs(correlation[0]) < CLEAR:
            return "↕ both ways"
        return "↗ rises" if correlation[0] > 0 else "↘ falls"
    slope = (step * change).sum(0)
    up, down = int(slope.argmax()), int(slope.argmin())
    words = [f"↗ {outputs.names[up]}"] if correlation[up] >= CLEAR else []
    words += [f"↘ {outputs.names[down]}"] if correlation[down] <= -CLEAR else []
    return ", ".join(words) or "↕ both ways"


def _categories(column: Column, new: np.ndarray, change: Float[np.ndarray, "row output"], outputs: Outputs) -> str:
    codes = [code for code in np.unique(new).astype(int).tolist() if code < len(column.categories)]
    if len(codes) < 2:
        return ""
    means = np.stack([change[new == code].mean(0) for code in codes])
    names = [str(column.categories[code]) for code in codes]
    if len(outputs.places) == 1:
        return f"highest: {names[int(means[:, 0].argmax())]}; lowest: {names[int(means[:, 0].argmin())]}"
    place, output = np.unravel_index(int(means.argmax()), means.shape)
    return f"{names[int(place)]}: more {outputs.names[int(output)]}"
