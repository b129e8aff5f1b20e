"""Autoregression by recursive least squares: coefficients at every time from the past alone (Plackett, 1950).

The next change is a linear function of earlier values relative to the last one; a ridge penalty draws it towards no
change at all, the random walk. Forecasts of several steps feed on their own.
"""

import numpy as np
from jaxtyping import Float, Int

MEMORY = 0.998  # weight of an equation for each step that it is older
RIDGE = 4.0  # in equations
MAX_LAG = 6  # of those next to the origin


def choose_lags(count: int, period: int) -> Int[np.ndarray, " lag"]:
    """How far before the last value: a few recent ones, and the two a season before the next one; fewer if short."""
    near = range(1, 1 + min(MAX_LAG, max(1, count // 15)))
    far = (period - 1, period) if 3 < period <= count // 3 else ()
    return np.unique([*near, *far])


def autoregress(values: Float[np.ndarray, " time"], period: int, horizon: int) -> Float[np.ndarray, "time step"]:
    """Forecasts from every origin; those without enough past are the last value."""
    filled = fill_gaps(values)
    count = len(filled)
    lags = choose_lags(count, period)
    deepest = int(lags.max()) + 1
    result = np.repeat(filled[:, None], horizon, 1)
    if count < deepest + 8:
        return result
    coefficients = _coefficients(filled, lags, deepest)
    history = np.stack([filled[deepest - back - 1 : count - back] for back in range(deepest)], 1)  # newest first
    low, high = _bounds(filled)
    for step in range(horizon):
        inputs = _inputs(history, lags)
        following = history[:, 0] + (inputs * coefficients[deepest - 1 :]).sum(1)
        following = np.clip(following, low[deepest - 1 :], high[deepest - 1 :])
        result[deepest - 1 :, step] = following
        history = np.concatenate([following[:, None], history[:, :-1]], 1)
    return result


def _inputs(history: Float[np.ndarray, "row back"], lags: Int[np.ndarray, " lag"]) -> Float[np.ndarray, "row input"]:
    return history[:, lags] - history[:, :1]


def _coefficients(
    values: Float[np.ndarray, " time"], lags: Int[np.ndarray, " lag"], deepest: int
) -> Float[np.ndarray, "time input"]:
    """Least squares over all equations up to each time, discounted."""
    scale = np.abs(np.diff(values)).mean() or 1.0
    inverse = np.eye(len(lags)) / (RIDGE * scale**2)
    current = np.zeros(len(lags))
    result = np.zeros((len(values), len(lags)))
    for time in range(deepest, len(values)):
        back = values[time - 1 - lags] - values[time - 1]
        gain = inverse @ back
        gain = gain / (MEMORY + back @ gain)
        error = values[time] - values[time - 1] - current @ back
        limit = 4 * scale
        current = current + gain * min(max(error, -limit), limit)  # an outlier is one equation, not the series
        inverse = (inverse - np.outer(gain, back @ inverse)) / MEMORY
        result[time] = current
    return result


def _bounds(values: Float[np.ndarray, " time"]) -> tuple[Float[np.ndarray, " time"], Float[np.ndarray, " time"]]:
    """How far iterated forecasts may run: half the range beyond what was seen up to each time."""
    low, high = np.minimum.accumulate(values), np.maximum.accumulate(values)
    return low - (high - low) / 2, high + (high - low) / 2


def fill_gaps(values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
    """The last known value in place of a missing one; the first known one before that."""
    places = np.where(np.isfinite(values), np.arange(len(values)), -1)
    places = np.maximum.accumulate(places)
    return values[np.where(places < 0, np.flatnonzero(np.isfinite(values))[0], places)]
