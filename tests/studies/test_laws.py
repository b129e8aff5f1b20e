"""Fits find the laws that points were made from, and their intervals hold the truth about as often as they say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from regard.core.errors import UserError
from regard.studies.scale.best_size import best_sizes
from regard.studies.scale.laws import JointLaw, Point, fit_joint, fit_power, interval
from regard.studies.scale.levenberg_marquardt import (
    HUBER_DELTA,
    LOWER,
    UPPER,
    levenberg_marquardt,
    log_loss_and_jacobian,
)
from regard.studies.scale.report import frontier

SIZES, TOKENS = (1e4, 4e4, 1.6e5, 6e5), (2e5, 8e5, 3e6, 1.2e7)
LAW = JointLaw(floor=1.2, a=20.0, b=60.0, alpha=0.35, beta=0.3)


def points_of(law: JointLaw, noise: float = 0.0, seed: int = 0) -> list[Point]:
    rng = np.random.default_rng(seed)
    return [
        Point(n, d, 6 * n * d, law.loss(n, d) * math.exp(noise * rng.standard_normal())) for n in SIZES for d in TOKENS
    ]


@settings(max_examples=5)
@given(
    floor=st.floats(0.5, 2.0), near=st.floats(0.3, 1.0), far=st.floats(0.3, 1.0),
    alpha=st.floats(0.25, 0.8), beta=st.floats(0.25, 0.8),
)  # fmt: skip
def test_points_without_noise_give_back_their_law(floor: float, near: float, far: float, alpha: float, beta: float):
    """The terms are as large as losses are in the middle of the grid; then every part of the law can be seen."""
    a, b = near * 8e4**alpha, far * 1.5e6**beta
    law = JointLaw(floor, a, b, alpha, beta)
    fitted = fit_joint(points_of(law)).law
    assert fitted.alpha == pytest.approx(alpha, rel=0.05)
    assert fitted.beta == pytest.approx(beta, rel=0.05)
    assert fitted.floor == pytest.approx(floor, rel=0.05)
    assert fitted.loss(2e6, 4e7) == pytest.approx(law.loss(2e6, 4e7), rel=0.01), "beyond the points, too"
    assert fitted.best_parameters(1e13) == pytest.approx(law.best_parameters(1e13), rel=0.15)


def test_the_best_size_is_that_of_a_search():
    sizes = np.exp(np.linspace(math.log(1e3), math.log(1e9), 20001))
    searched = sizes[np.argmin([LAW.loss(n, 1e12 / n) for n in sizes])]
    assert LAW.best_parameters(1e12) == pytest.approx(searched, rel=2e-3)


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_intervals_of_a_prediction_hold_a_larger_run_about_as_often_as_they_say(noise: float):
    """A run that is not on the grid, with noise of its own: nine in ten are meant."""
    held = []
    for seed in range(40):
        predicted = fit_joint(points_of(LAW, noise, seed), seed).predict(2e6, 1.2e7)
        assert predicted.low <= predicted.value <= predicted.high
        own = noise * np.random.default_rng(1000 + seed).standard_normal()
        held.append(predicted.contains(LAW.loss(2e6, 1.2e7) * math.exp(own)))
    assert 0.8 <= np.mean(held) <= 0.97


def test_a_law_that_does_not_hold_has_wider_prediction_intervals():
    """Losses that stop falling beyond a size which the law knows nothing of: the largest size of the grid shows it."""
    bent = [replace(p, loss=max(p.loss, 2.3)) if p.parameters == max(SIZES) else p for p in points_of(LAW, 0.002)]
    straight, other = fit_joint(points_of(LAW, 0.002)), fit_joint(bent)
    assert other.extrapolation_error > 3 * straight.extrapolation_error
    predicted = other.predict(2e6, 1.2e7)
    assert predicted.high >= predicted.value * math.exp(other.extrapolation_error)


def test_fits_agree_with_scipy():
    points = points_of(LAW, 0.01, 3)
    inputs = np.log(np.array([[p.parameters, p.tokens] for p in points]))
    inputs, observed = inputs - inputs.mean(0), np.log(np.array([p.loss for p in points]))
    start = np.array([-1.0, -0.3, 0.2, 0.4, 0.3])
    theta, cost = levenberg_marquardt(inputs[None], observed[None], start[None])
    oracle = least_squares(
        lambda theta: log_loss_and_jacobian(theta[None], inputs[None])[0][0] - observed,
        start,  # with derivatives by finite differences
        bounds=(LOWER, UPPER),
        loss="huber",
        f_scale=HUBER_DELTA,
    )
    assert cost[0] == pytest.approx(oracle.cost / HUBER_DELTA**2, rel=1e-4)
    predicted, expected = (log_loss_and_jacobian(at[None], inputs[None])[0][0] for at in (theta[0], oracle.x))
    np.testing.assert_allclose(predicted, expected, atol=1e-3)


@given(st.floats(0.02, 0.9), st.floats(1.0, 50.0))
def test_a_power_law_is_found_exactly(exponent: float, scale: float):
    law, predicted = fit_power(SIZES, [scale * x**-exponent for x in SIZES])
    assert law.exponent == pytest.approx(exponent, rel=1e-6)
    assert law.scale == pytest.approx(scale, rel=1e-5)
    assert predicted.high - predicted.low < 1e-6, "no noise, no doubt"


def test_noise_widens_the_interval_of_a_power():
    rng = np.random.default_rng(0)
    xs = np.exp(np.linspace(8, 14, 12))
    predicted = fit_power(xs.tolist(), [5 * x**-0.1 * math.exp(0.02 * rng.standard_normal()) for x in xs])[1]
    assert predicted.contains(0.1)
    assert 1e-3 < predicted.high - predicted.low < 0.05


def test_too_few_runs_are_refused():
    with pytest.raises(UserError, match="at least three sizes"):
        fit_power([1.0, 2.0], [3.0, 2.0])
    with pytest.raises(UserError, match="5 runs are too few"):
        fit_joint(points_of(LAW)[:5])


def test_the_frontier_has_only_runs_that_nothing_cheaper_beats():
    cheap, dear, beaten = Point(1, 1, 1, 3.0), Point(1, 1, 9, 2.0), Point(1, 1, 5, 3.5)
    assert frontier([cheap, dear, beaten]) == [cheap, dear]


def test_an_interval_is_of_the_middle_and_holds_its_value():
    predicted = interval(0.5, list(np.linspace(0, 1, 1001)))
    assert (predicted.low, predicted.high) == (pytest.approx(0.05), pytest.approx(0.95))
    assert interval(2.0, [0.0, 1.0]).contains(2.0)


def test_a_best_size_that_needs_more_text_says_so():
    points = points_of(LAW)
    fit = fit_joint(points)
    (one, ten, hundred) = best_sizes(fit, points, [], text=1e7)
    for size in (one, ten, hundred):
        assert size.epochs == pytest.approx(size.tokens.value / 1e7)
    assert one.epochs < 4 < hundred.epochs
    assert "epochs" not in str(one)
    assert f"with enough text (this text: {hundred.epochs:,.0f} epochs)" in str(hundred)
