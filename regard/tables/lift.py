"""Lift: how many rows of a class are among those with the largest probability of it, compared with a random choice.

If a tenth of all rows can be followed up, the gain is the fraction of all cases that are in it. The lift is the gain
divided by that of rows chosen at random; a lift of 4 in the first tenth means four times as many.
"""

import numpy as np
from jaxtyping import Bool, Float

TENTHS = 10


def lift_table(truth: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"]) -> dict[str, dict[str, float]]:
    """Cumulative, for the top 10 %, 20 %, … of the rows: the fraction of the class that they hold, and the lift."""
    gains = cumulative_gain(truth, probability)
    table = {}
    for tenth in range(1, TENTHS + 1):
        gain = float(np.interp(tenth / TENTHS * len(truth), np.arange(len(truth) + 1), gains))
        table[f"top_{100 * tenth // TENTHS}%"] = {"gain": gain, "lift": gain * TENTHS / tenth}
    return table


def cumulative_gain(
    truth: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"]
) -> Float[np.ndarray, " count"]:
    """The fraction of the class among the first 0, 1, 2, … rows by probability; of equal ones as expected by chance."""
    levels, level = np.unique(-probability, return_inverse=True)
    share = np.bincount(level, truth, len(levels)) / np.bincount(level, minlength=len(levels))
    return np.concatenate([[0.0], np.cumsum(share[np.sort(level)])]) / max(1, truth.sum())
