"""Scaling laws: how loss falls with parameters, tokens and work, fitted with intervals.

One variable at a time a power law, as in Kaplan et al. (2020). Both together L(N, D) = E + A/N^a + B/D^b, by Huber's
loss between logarithms from many starts, as in Hoffmann et al. (2022).

Intervals are bootstrapped. Of the joint law whole runs are drawn anew: to deal out residuals instead gave intervals a
third too narrow beyond the runs that were fitted. A line through four points leaves nothing else, and there residuals
are widened for what the fit has used up.

A bootstrap believes in the form of the law. What the form is worth beyond the runs that were fitted is tried on them:
without the largest size, how far is the law from its runs? A prediction beyond the grid is no narrower than that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from regard.core.errors import UserError
from regard.studies.scale.levenberg_marquardt import descend, logs_and_slopes

LEVEL = 0.9  # of intervals
RESAMPLES = 100
FEWEST = 7  # runs that the joint law with its five parameters can be fitted to
STARTS = ((-2.0, 0.0), (-2.0, 0.0), (-1.0, 0.0, 0.5), (0.2, 0.7), (0.2, 0.7))
Array = np.ndarray


@dataclass(frozen=True)
class Point:
    """One run: its parameters (without embeddings), its tokens, its operations, and where its loss ended."""

    parameters: float
    tokens: float
    flops: float
    loss: float
    embedding: float = 0  # parameters that the laws leave out


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def interval(value: float, drawn: Sequence[float]) -> Interval:
    low, high = np.quantile(np.array(drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(min(low, value)), float(max(high, value)))


@dataclass(frozen=True)
class PowerLaw:
    """L(x) = scale · x^-power: a straight line between logarithms."""

    scale: float
    power: float

    def loss(self, x: float) -> float:
        return self.scale * x**-self.power


def fit_power(x: Sequence[float], loss: Sequence[float], seed: int = 0) -> tuple[PowerLaw, Interval]:
    """The law, and the interval of its power."""
    if len(set(x)) < 3:
        raise UserError("a law needs runs of at least three sizes")
    log_x, log_loss = np.log(np.array(x)), np.log(np.array(loss))
    line = np.polyfit(log_x, log_loss, 1)
    fitted = np.polyval(line, log_x)
    drawn = [-np.polyfit(log_x, other, 1)[0] for other in resampled(fitted, log_loss, 2, seed)]
    return PowerLaw(math.exp(line[1]), -float(line[0])), interval(-float(line[0]), drawn)


def resampled(fitted: Array, seen: Array, used: int, seed: int) -> list[Array]:
    """What might have been seen instead: the fit with its residuals dealt out anew."""
    dice = np.random.default_rng(seed)
    residuals = (seen - fitted) * math.sqrt(len(seen) / max(len(seen) - used, 1))
    return [fitted + dice.choice(residuals, len(seen)) for _ in range(RESAMPLES)]


@dataclass(frozen=True)
class JointLaw:
    """L(N, D) = floor + a/N^of_parameters + b/D^of_tokens."""

    floor: float
    a: float
    b: float
    of_parameters: float
    of_tokens: float

    def loss(self, parameters: float, tokens: float) -> float:
        return self.floor + self.a * parameters**-self.of_parameters + self.b * tokens**-self.of_tokens

    def best_parameters(self, work: float) -> float:
        """The size at which the loss is lowest where parameters × tokens is `work`."""
        power = self.of_parameters + self.of_tokens
        ratio = self.of_parameters * self.a / (self.of_tokens * self.b)
        return float((ratio * work**self.of_tokens) ** (1 / power))


@dataclass(frozen=True)
class JointFit:
    law: JointLaw
    drawn: tuple[JointLaw, ...]  # laws of resampled points
    noise: tuple[float, ...]  # residuals of the logarithm of the loss, widened
    missed: float = 0.0  # how far, in logarithms, the runs of the largest size are from the law of the others

    def interval_of(self, name: str) -> Interval:
        return interval(getattr(self.law, name), [getattr(law, name) for law in self.drawn])

    def best_parameters(self, work: float) -> Interval:
        return interval(self.law.best_parameters(work), [law.best_parameters(work) for law in self.drawn])

    def predict(self, parameters: float, tokens: float, seed: int = 0) -> Interval:
        """The loss of one more run: the law may be another or not hold so far out, and the run has its own noise."""
        dice = np.random.default_rng(seed)
        drawn = [law.loss(parameters, tokens) * math.exp(dice.choice(self.noise)) for law in self.drawn]
        told = interval(self.law.loss(parameters, tokens), drawn)
        apart = math.exp(self.missed)
        return Interval(told.value, min(told.low, told.value / apart), max(told.high, told.value * apart))


def fit_joint(points: Sequence[Point], seed: int = 0) -> JointFit:
    if len(points) < FEWEST:
        raise UserError(f"the joint law has five parameters, and {len(points)} runs are too few to fit it")
    logs = np.log(np.array([[p.parameters, p.tokens] for p in points]))
    seen = np.log(np.array([p.loss for p in points]))
    middle = logs.mean(0)  # parameters of the fit then hardly depend on each other
    far = logs - middle
    best = _search(far, seen)
    picks = np.random.default_rng(seed).integers(0, len(seen), (RESAMPLES, len(seen)))
    drawn = descend(far[picks], seen[picks], np.tile(best, (RESAMPLES, 1)))[0]
    widened = (seen - _told(best, far)) * math.sqrt(len(seen) / (len(seen) - len(best)))
    laws = tuple(_law(one, middle) for one in drawn)
    return JointFit(_law(best, middle), laws, tuple(widened.tolist()), _missed(far, seen))


def _missed(far: Float[Array, "point two"], seen: Float[Array, " point"]) -> float:
    """The root of the mean square; nothing where too few sizes remain to fit."""
    largest = far[:, 0] == far[:, 0].max()
    rest = ~largest
    if rest.sum() < FEWEST or len(set(far[rest, 0])) < 3:
        return 0.0
    told = _told(_search(far[rest], seen[rest]), far[largest])
    return float(np.sqrt(np.square(seen[largest] - told).mean()))


def _search(far: Float[Array, "point two"], seen: Float[Array, " point"]) -> Array:
    """The best of the descents from all starts."""
    starts = np.array(list(product(*STARTS)))
    found, cost = descend(np.tile(far, (len(starts), 1, 1)), np.tile(seen, (len(starts), 1)), starts)
    return np.asarray(found[cost.argmin()])


def _told(found: Array, far: Float[Array, "point two"]) -> Float[Array, " point"]:
    return logs_and_slopes(found[None], far[None])[0][0]


def _law(found: Array, middle: Array) -> JointLaw:
    a, b, e, alpha, beta = (float(value) for value in found)
    of_middle = float(middle[0]), float(middle[1])
    return JointLaw(math.exp(e), math.exp(a + alpha * of_middle[0]), math.exp(b + beta * of_middle[1]), alpha, beta)
