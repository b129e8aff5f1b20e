"""Fits find the laws that points were made from, and their intervals hold the truth about as often as they say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from regard.core.errors import UserError
from regard.studies.scale.best_size import best_sizes
from regard.studies.scale.laws import JointLaw, Point, fit_joint, fit_power, interval
from regard.studies.scale.levenberg_marquardt import HUBER, descend, logs_and_slopes
from regard.studies.scale.report import frontier

SIZES, TOKENS = (1e4, 4e4, 1.6e5, 6e5), (2e5, 8e5, 3e6, 1.2e7)
LAW = JointLaw(floor=1.2, a=20.0, b=60.0, of_parameters=0.35, of_tokens=0.3)


def points_of(law: JointLaw, noise: float = 0.0, seed: int = 0) -> list[Point]:
    dice = np.random.default_rng(seed)
    return [
        Point(n, d, 6 * n * d, law.loss(n, d) * math.exp(noise * dice.standard_normal())) for n in SIZES for d in TOKENS
    ]


@settings(max_examples=5)
@given(
    floor=st.floats(0.5, 2.0), near=st.floats(0.3, 1.0), far=st.floats(0.3, 1.0),
    of_parameters=st.floats(0.25, 0.8), of_tokens=st.floats(0.25, 0.8),
)  # fmt: skip
def test_points_without_noise_give_back_their_law(
    floor: float, near: float, far: float, of_parameters: float, of_tokens: float
):
    """The terms are as large as losses are in the middle of the grid; then every part of the law can be seen."""
    a, b = near * 8e4**of_parameters, far * 1.5e6**of_tokens
    law = JointLaw(floor, a, b, of_parameters, of_tokens)
    found = fit_joint(points_of(law)).law
    assert found.of_parameters == pytest.approx(of_parameters, rel=0.05)
    assert found.of_tokens == pytest.approx(of_tokens, rel=0.05)
    assert found.floor == pytest.approx(floor, rel=0.05)
    assert found.loss(2e6, 4e7) == pytest.approx(law.loss(2e6, 4e7), rel=0.01), "beyond the points, too"
    assert found.best_parameters(1e13) == pytest.approx(law.best_parameters(1e13), rel=0.15)


def test_the_best_size_is_that_of_a_search():
    sizes = np.exp(np.linspace(math.log(1e3), math.log(1e9), 20001))
    searched = sizes[np.argmin([LAW.loss(n, 1e12 / n) for n in sizes])]
    assert LAW.best_parameters(1e12) == pytest.approx(searched, rel=2e-3)


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_intervals_of_a_prediction_hold_a_larger_run_about_as_often_as_they_say(noise: float):
    """A run that is not on the grid, with noise of its own: nine in ten are meant."""
    held = []
    for seed in range(60):
        told = fit_joint(points_of(LAW, noise, seed), seed).predict(2e6, 1.2e7)
        assert told.low <= told.value <= told.high
        own = noise * np.random.default_rng(1000 + seed).standard_normal()
        held.append(told.holds(LAW.loss(2e6, 1.2e7) * math.exp(own)))
    assert 0.8 <= np.mean(held) <= 0.97


def test_a_law_that_does_not_hold_is_foretold_less_surely():
    """Losses that stop falling beyond a size which the law knows nothing of: the largest size of the grid shows it."""
    bent = [replace(p, loss=max(p.loss, 2.3)) if p.parameters == max(SIZES) else p for p in points_of(LAW, 0.002)]
    straight, other = fit_joint(points_of(LAW, 0.002)), fit_joint(bent)
    assert other.missed > 3 * straight.missed
    told = other.predict(2e6, 1.2e7)
    assert told.high >= told.value * math.exp(other.missed)


def test_descents_end_where_a_general_search_ends():
    """An oracle that knows nothing of slopes."""
    points = points_of(LAW, 0.01, 3)
    far = np.log(np.array([[p.parameters, p.tokens] for p in points]))
    far, seen = far - far.mean(0), np.log(np.array([p.loss for p in points]))
    found, cost = descend(far[None], seen[None], np.array([[-1.0, -0.3, 0.2, 0.4, 0.3]]))

    def huber(where: np.ndarray) -> float:
        wrong = np.abs(logs_and_slopes(where[None], far[None])[0][0] - seen) / HUBER
        return float(np.where(wrong <= 1, wrong**2 / 2, wrong - 0.5).sum())

    searched = minimize(huber, found[0], method="Nelder-Mead", options={"maxiter": 3000, "xatol": 1e-9, "fatol": 1e-9})
    assert cost[0] == pytest.approx(huber(found[0]))
    assert cost[0] <= searched.fun * 1.001


@given(st.floats(0.02, 0.9), st.floats(1.0, 50.0))
def test_a_power_law_is_found_exactly(power: float, scale: float):
    law, told = fit_power(SIZES, [scale * x**-power for x in SIZES])
    assert law.power == pytest.approx(power, rel=1e-6)
    assert law.scale == pytest.approx(scale, rel=1e-5)
    assert told.high - told.low < 1e-6, "no noise, no doubt"


def test_noise_widens_the_interval_of_a_power():
    dice = np.random.default_rng(0)
    xs = np.exp(np.linspace(8, 14, 12))
    told = fit_power(xs.tolist(), [5 * x**-0.1 * math.exp(0.02 * dice.standard_normal()) for x in xs])[1]
    assert told.holds(0.1)
    assert 1e-3 < told.high - told.low < 0.05


def test_too_few_runs_are_refused():
    with pytest.raises(UserError, match="at least three sizes"):
        fit_power([1.0, 2.0], [3.0, 2.0])
    with pytest.raises(UserError, match="5 runs are too few"):
        fit_joint(points_of(LAW)[:5])


def test_the_frontier_has_only_runs_that_nothing_cheaper_beats():
    cheap, dear, beaten = Point(1, 1, 1, 3.0), Point(1, 1, 9, 2.0), Point(1, 1, 5, 3.5)
    assert frontier([cheap, dear, beaten]) == [cheap, dear]


def test_an_interval_is_of_the_middle_and_holds_its_value():
    told = interval(0.5, list(np.linspace(0, 1, 1001)))
    assert (told.low, told.high) == (pytest.approx(0.05), pytest.approx(0.95))
    assert interval(2.0, [0.0, 1.0]).holds(2.0)


def test_a_best_size_that_needs_more_text_than_there_is_says_so():
    points = points_of(LAW)
    fit = fit_joint(points)
    (one, ten, hundred) = best_sizes(fit, points, [], text=1e7)
    for size in (one, ten, hundred):
        assert size.passes == pytest.approx(size.tokens.value / 1e7)
    assert one.passes < 4 < hundred.passes
    assert "passes over this" not in str(one)
    assert f"if there were so much text: it is {hundred.passes:,.0f} passes over this" in str(hundred)
