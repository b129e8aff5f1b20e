"""Scores of a back-test: MASE, weighted quantile loss and coverage, beside simple methods."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from regard.tables.forecast.candidates import SEASONAL_NAIVE
from regard.tables.forecast.engine import Prepared, Window
from regard.tables.forecast.network import LEVELS
from regard.tables.forecast.quantiles import pinball

DECILES = np.flatnonzero(np.isin(np.round(LEVELS, 3), np.round(np.arange(0.1, 0.95, 0.1), 3)))
MIN_ERRORS = 10  # to take quantiles of
EXACT = 1e-9  # error of the seasonal naive forecast relative to the values: below it there is nothing to compare with


@dataclass(frozen=True)
class MethodScore:
    """Of one method, over all held-out windows."""

    method: str
    mase: float  # mean absolute error over that of the seasonal naive forecast of one step, in the past (Hyndman, 2006)
    weighted_quantile_loss: float  # of the deciles, relative to the sum of absolute values
    coverage_80: float
    coverage_90: float
    mase_lead: float = float("nan")  # of the forecast over this method: the mean difference over windows
    mase_lead_error: float = float("nan")  # its standard error, from the spread over windows


def seasonal_scale(values: Float[np.ndarray, " time"], period: int) -> float:
    """The mean absolute seasonal difference; of a series shorter than a season the plain one."""
    lag = period if np.isfinite(values[period:] - values[:-period]).any() else 1
    difference = np.abs(values[lag:] - values[:-lag])
    return float(np.nanmean(difference)) if np.isfinite(difference).any() else float("nan")


def score_windows(held_out: Sequence[Window]) -> list[MethodScore]:
    """Scores of the forecast, of exponential smoothing and of the seasonal naive forecast on the same windows."""
    if not held_out:
        return []
    baselines = {"exponential smoothing": _smoothing_name, "seasonal naive": lambda _: SEASONAL_NAIVE}
    own = _window_errors(held_out)
    scores = [_score("regard", held_out, own)]
    for name, method in baselines.items():
        windows = [
            Window(one.of, one.origin, baseline_quantiles(one.of, method(one.of), one.origin)) for one in held_out
        ]
        errors = _window_errors(windows)
        lead, error = _lead(errors - own)
        scores.append(replace(_score(name, windows, errors), mase_lead=lead, mase_lead_error=error))
    return scores


def _smoothing_name(one: Prepared) -> str:
    return "damped trend of seasonal level" if one.series.periods[0] > 1 else "damped trend of level"


def baseline_quantiles(one: Prepared, method: str, origin: int) -> Float[np.ndarray, "step level"]:
    """A method's forecast with the quantiles of its own past errors at each step."""
    forecasts = one.candidates.of(method)
    actual = one.candidates.base + one.candidates.errors
    errors = (actual - forecasts)[one.first : origin]
    places, steps = np.arange(one.first, origin)[:, None], np.arange(1, one.horizon + 1)
    errors = np.where(places + steps <= origin, errors, np.nan)
    pooled = errors[np.isfinite(errors)]
    quantiles = np.zeros((one.horizon, len(LEVELS)))
    for step in range(one.horizon):
        own = errors[np.isfinite(errors[:, step]), step]
        some = own if len(own) >= MIN_ERRORS else pooled
        quantiles[step] = np.quantile(some, LEVELS) if len(some) else 0.0
    centre = quantiles[:, len(LEVELS) // 2, None]
    return forecasts[origin][:, None] + quantiles - centre


def _window_errors(windows: Sequence[Window]) -> Float[np.ndarray, " window"]:
    """The MASE of each window; NaN where there is nothing to compare with."""
    errors = np.full(len(windows), np.nan)
    for number, one in enumerate(windows):
        actual, past = one.of.outcome(one.origin), one.of.actual[: one.origin + 1]
        known, scale = np.isfinite(actual), seasonal_scale(past, one.of.series.periods[0])
        if known.any() and scale > EXACT * np.nanmax(np.abs(past)):
            errors[number] = np.abs(actual[known] - one.median[known]).mean() / scale
    return errors


def _lead(differences: Float[np.ndarray, " window"]) -> tuple[float, float]:
    """The mean difference, and its standard error; NaN where there are no windows to estimate it from."""
    known = differences[np.isfinite(differences)]
    mean = float(known.mean()) if len(known) else float("nan")
    return mean, float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")


def _score(name: str, windows: Sequence[Window], errors: Float[np.ndarray, " window"]) -> MethodScore:
    loss, total, inside = 0.0, 0.0, []
    for one in windows:
        actual = one.of.outcome(one.origin)
        known = np.isfinite(actual)
        if not known.any():
            continue
        actual, quantiles = actual[known], one.quantiles[known]
        loss += 2 * pinball(quantiles, actual)[:, DECILES].mean(1).sum()
        total += np.abs(actual).sum()
        inside.append([_inside(quantiles, actual, low) for low in (0.1, 0.05)])
    coverage = np.concatenate([np.array(each) for each in inside], 1).mean(1) if inside else [np.nan, np.nan]
    mase = float(np.nanmean(errors)) if np.isfinite(errors).any() else float("nan")
    return MethodScore(name, mase, loss / total if total else float("nan"), float(coverage[0]), float(coverage[1]))


def _inside(quantiles: np.ndarray, actual: np.ndarray, low: float) -> np.ndarray:
    below, above = np.argmin(np.abs(LEVELS - low)), np.argmin(np.abs(LEVELS - 1 + low))
    return (quantiles[:, below] <= actual) & (actual <= quantiles[:, above])
