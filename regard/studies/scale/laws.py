"""Scaling laws: how the loss falls with parameters, tokens and compute, fitted with bootstrap intervals.

One variable at a time: a power law (Kaplan et al., 2020). Both together: L(N, D) = E + A/N^alpha + B/D^beta, fitted by
Huber's loss between logarithms from many starting points (Hoffmann et al., 2022).

The joint law is bootstrapped over whole runs: resampling residuals gave intervals a third too narrow beyond the fitted
runs. A line through four points leaves no runs to spare, so there residuals are resampled, inflated for the degrees of
freedom that the fit has used.

A bootstrap takes the form of the law for granted. To check it, the law is fitted without the largest size and compared
with the runs of that size: prediction intervals are at least as wide as this error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from regard.core.errors import UserError
from regard.studies.scale.levenberg_marquardt import levenberg_marquardt, log_loss_and_jacobian

CONFIDENCE = 0.9
RESAMPLES = 100
MIN_RUNS = 7  # to fit the five parameters of the joint law
STARTS = ((-2.0, 0.0), (-2.0, 0.0), (-1.0, 0.0, 0.5), (0.2, 0.7), (0.2, 0.7))
Array = np.ndarray


@dataclass(frozen=True)
class Point:
    """One run: its parameters (without embeddings), tokens, floating-point operations and final loss."""

    parameters: float
    tokens: float
    flops: float
    loss: float
    embedding: float = 0  # parameters in embeddings, which the laws leave out


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def interval(value: float, samples: Sequence[float]) -> Interval:
    """The percentile interval of bootstrap samples, widened to contain the estimate itself."""
    low, high = np.quantile(np.array(samples), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(value, float(min(low, value)), float(max(high, value)))


@dataclass(frozen=True)
class PowerLaw:
    """L(x) = scale · x^-exponent: a straight line between logarithms."""

    scale: float
    exponent: float

    def loss(self, x: float) -> float:
        return self.scale * x**-self.exponent


def fit_power(x: Sequence[float], loss: Sequence[float], seed: int = 0) -> tuple[PowerLaw, Interval]:
    """The law, and the interval of its exponent."""
    if len(set(x)) < 3:
        raise UserError("a power law needs runs of at least three sizes")
    log_x, log_loss = np.log(np.array(x)), np.log(np.array(loss))
    line = np.polyfit(log_x, log_loss, 1)
    fitted = np.polyval(line, log_x)
    samples = [-np.polyfit(log_x, other, 1)[0] for other in resample_residuals(fitted, log_loss, 2, seed)]
    return PowerLaw(math.exp(line[1]), -float(line[0])), interval(-float(line[0]), samples)


def resample_residuals(fitted: Array, observed: Array, used: int, seed: int) -> list[Array]:
    """Bootstrap samples of the observations: the fit plus resampled residuals. `used`: parameters of the fit."""
    rng = np.random.default_rng(seed)
    residuals = (observed - fitted) * math.sqrt(len(observed) / max(len(observed) - used, 1))
    return [fitted + rng.choice(residuals, len(observed)) for _ in range(RESAMPLES)]


@dataclass(frozen=True)
class JointLaw:
    """L(N, D) = floor + a/N^alpha + b/D^beta."""

    floor: float
    a: float
    b: float
    alpha: float
    beta: float

    def loss(self, parameters: float, tokens: float) -> float:
        return self.floor + self.a * parameters**-self.alpha + self.b * tokens**-self.beta

    def best_parameters(self, work: float) -> float:
        """The number of parameters with the lowest loss where parameters × tokens is `work`."""
        ratio = self.alpha * self.a / (self.beta * self.b)
        return float((ratio * work**self.beta) ** (1 / (self.alpha + self.beta)))


@dataclass(frozen=True)
class JointFit:
    law: JointLaw
    samples: tuple[JointLaw, ...]  # the bootstrap
    residuals: tuple[float, ...]  # of log losses, inflated for the degrees of freedom
    extrapolation_error: float = 0.0  # root mean square, in log loss, on the largest size when fitted without it

    def interval_of(self, name: str) -> Interval:
        return interval(getattr(self.law, name), [getattr(law, name) for law in self.samples])

    def best_parameters(self, work: float) -> Interval:
        return interval(self.law.best_parameters(work), [law.best_parameters(work) for law in self.samples])

    def predict(self, parameters: float, tokens: float, seed: int = 0) -> Interval:
        """The loss of one more run, with the uncertainty of the fit, of its form, and the noise of a single run."""
        rng = np.random.default_rng(seed)
        samples = [law.loss(parameters, tokens) * math.exp(rng.choice(self.residuals)) for law in self.samples]
        predicted = interval(self.law.loss(parameters, tokens), samples)
        factor = math.exp(self.extrapolation_error)
        low, high = min(predicted.low, predicted.value / factor), max(predicted.high, predicted.value * factor)
        return Interval(predicted.value, low, high)


def fit_joint(points: Sequence[Point], seed: int = 0) -> JointFit:
    if len(points) < MIN_RUNS:
        raise UserError(f"the joint law has five parameters; {len(points)} runs are too few to fit it")
    logs = np.log(np.array([[p.parameters, p.tokens] for p in points]))
    observed = np.log(np.array([p.loss for p in points]))
    centre = logs.mean(0)  # centred, the parameters of the fit hardly correlate
    inputs = logs - centre
    best = _fit(inputs, observed)
    picks = np.random.default_rng(seed).integers(0, len(observed), (RESAMPLES, len(observed)))
    samples = levenberg_marquardt(inputs[picks], observed[picks], np.tile(best, (RESAMPLES, 1)))[0]
    residuals = (observed - _predict(best, inputs)) * math.sqrt(len(observed) / (len(observed) - len(best)))
    laws = tuple(_law(theta, centre) for theta in samples)
    return JointFit(_law(best, centre), laws, tuple(residuals.tolist()), _extrapolation_error(inputs, observed))


def _extrapolation_error(inputs: Float[Array, "point two"], observed: Float[Array, " point"]) -> float:
    """Root mean square error on the largest size, fitted without it; 0 where too few sizes remain to fit."""
    largest = inputs[:, 0] == inputs[:, 0].max()
    rest = ~largest
    if rest.sum() < MIN_RUNS or len(set(inputs[rest, 0])) < 3:
        return 0.0
    predicted = _predict(_fit(inputs[rest], observed[rest]), inputs[largest])
    return float(np.sqrt(np.square(observed[largest] - predicted).mean()))


def _fit(inputs: Float[Array, "point two"], observed: Float[Array, " point"]) -> Array:
    """The best optimum over all starting points."""
    starts = np.array(list(product(*STARTS)))
    copies = np.tile(inputs, (len(starts), 1, 1)), np.tile(observed, (len(starts), 1))
    theta, cost = levenberg_marquardt(*copies, starts)
    return np.asarray(theta[cost.argmin()])


def _predict(theta: Array, inputs: Float[Array, "point two"]) -> Float[Array, " point"]:
    return log_loss_and_jacobian(theta[None], inputs[None])[0][0]


def _law(theta: Array, centre: Array) -> JointLaw:
    """The law in uncentred variables."""
    log_a, log_b, log_floor, alpha, beta = (float(value) for value in theta)
    size, tokens = float(centre[0]), float(centre[1])
    return JointLaw(math.exp(log_floor), math.exp(log_a + alpha * size), math.exp(log_b + beta * tokens), alpha, beta)
