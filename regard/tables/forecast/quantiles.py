"""Quantiles of forecast errors: those of the past and those of the network, mixed as held-out errors decide."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri  # norm.ppf, without a second of scipy.stats

from regard.tables.forecast.candidates import Candidates
from regard.tables.forecast.network import LEVELS, MEDIAN

PRIOR_ERRORS = 10  # of a normal distribution, among those of the past
PRIOR_MIX, PRIOR_WINDOWS = 0.3, 1.5  # share of the network before anything is held out, and what that counts
SHARES = np.arange(0, 0.95, 0.1)
SPREADS = np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6])


@dataclass(frozen=True)
class Mix:
    """How quantiles are combined."""

    share: float = PRIOR_MIX  # of the network's
    spread: float = 1.0  # factor of their distance from the median

    def apply(
        self, past: Float[np.ndarray, "row level"], network: Float[np.ndarray, "row level"] | None
    ) -> Float[np.ndarray, "row level"]:
        mixed = past if network is None else self.share * network + (1 - self.share) * past
        median = mixed[:, MEDIAN : MEDIAN + 1]
        return median + self.spread * (mixed - median)


def past_quantiles(candidates: Candidates, origin: int, first: int) -> Float[np.ndarray, " level"]:
    """Of the errors known at an origin, in units of their scale, around their median (split conformal prediction)."""
    errors = candidates.errors[first:origin] / candidates.scale[first:origin]
    steps = np.arange(1, errors.shape[1] + 1)
    known = np.arange(first, origin)[:, None] + steps <= origin
    errors = errors[known & np.isfinite(errors)]
    prior = ndtri((np.arange(PRIOR_ERRORS) + 0.5) / PRIOR_ERRORS) * np.sqrt(np.pi / 2)  # mean absolute error 1
    result = np.quantile(np.concatenate([errors, prior]), LEVELS)
    return result - result[MEDIAN]


def pinball(
    quantiles: Float[np.ndarray, "row level"], outcome: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "row level"]:
    """The loss whose expectation the true quantile minimises."""
    difference = outcome[:, None] - quantiles
    return np.maximum(LEVELS * difference, (LEVELS - 1) * difference)


def fit_mix(
    past: Float[np.ndarray, "row level"],
    network: Float[np.ndarray, "row level"] | None,
    outcome: Float[np.ndarray, " row"],
    windows: int,
) -> Mix:
    """The mix with the least loss on held-out errors; few windows leave it near the prior."""
    known = np.isfinite(outcome)
    if not known.any():
        return Mix()
    past, outcome = past[known], outcome[known]
    network = None if network is None else network[known]
    mixes = [Mix(share, spread) for share in (SHARES if network is not None else [0.0]) for spread in SPREADS]
    losses = np.array([pinball(mix.apply(past, network), outcome).mean() for mix in mixes])
    away = np.array([(mix.share - PRIOR_MIX) ** 2 + np.log(mix.spread) ** 2 for mix in mixes])
    return mixes[int(np.argmin(losses * (1 + PRIOR_WINDOWS * away / windows)))]
