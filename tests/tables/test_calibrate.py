"""Calibration: probabilities are as confident, and intervals as wide, as held-out rows allow."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.datasets import load_diabetes, make_blobs, make_classification
from sklearn.metrics import log_loss

import regard
from regard.core.errors import UserError
from regard.store import CONFIG
from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.calibrate import (
    BEYOND,
    TEMPERATURES,
    _reached_levels,
    apply_levels,
    apply_temperature,
    fit_levels,
    fit_scale,
    fit_temperature,
)
from regard.tables.network.in_context_loss import quantile_levels
from tests.tables.conftest import REAL


def probabilities(rows: int, classes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, classes, generator=torch.Generator().manual_seed(seed)).softmax(-1)


@given(st.sampled_from(TEMPERATURES), st.integers(2, 100), st.integers(0, 99))
def test_a_row_keeps_its_order_and_sums_to_one(temperature: float, classes: int, seed: int):
    plain = probabilities(20, classes, seed)
    scaled = apply_temperature(plain, temperature)
    assert torch.allclose(scaled.sum(-1), torch.ones(20))
    assert torch.equal(scaled.argmax(-1), plain.argmax(-1))


def test_probability_zero_stays_zero():
    plain = torch.tensor([[0.7, 0.3, *[0.0] * 98]])
    for temperature in TEMPERATURES:
        assert not apply_temperature(plain, temperature)[0, 2:].any()


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_temperature_of_miscalibrated_probabilities_is_recovered(temperature: float):
    """Classes are drawn from calibrated probabilities, which are then sharpened or flattened."""
    calibrated = torch.cat([probabilities(5000, 5, seed) for seed in range(2)])
    truth = torch.multinomial(calibrated, 1, generator=torch.Generator().manual_seed(1))[:, 0].float()
    fitted = fit_temperature(apply_temperature(calibrated, 1 / temperature), truth)
    assert abs(np.log2(fitted / temperature)) <= 0.26, "at most the next step of the grid"


def test_few_rows_alone_do_not_make_predictions_very_confident():
    one = torch.tensor([[0.4, 0.3, 0.3]])
    assert fit_temperature(one, torch.tensor([0.0])) > 0.5 > fit_temperature(one.repeat(200, 1), torch.zeros(200))


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(400, 4, centers=12, cluster_std=0.7, random_state=0)


def test_an_easy_table_of_many_classes_is_predicted_with_confidence(
    blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path
):
    cells, labels = blobs
    model = NPTClassifier(mode="in_context", members=2, random_state=0).fit(cells[:300], labels[:300])
    predicted = model.predict_proba(cells[300:])
    temperature = model.predictors_[0].calibration.temperature
    assert temperature < 1
    plain = apply_temperature(torch.from_numpy(predicted), 1 / temperature).numpy()
    assert log_loss(labels[300:], predicted) < 0.8 * log_loss(labels[300:], plain)
    model.save(tmp_path / "run")
    assert np.array_equal(regard.load(tmp_path / "run").predict_proba(cells[300:]), predicted)
    config = tmp_path / "run" / CONFIG
    config.write_text(re.sub("temperature: .*", "temperature: 1.0", config.read_text()))
    np.testing.assert_allclose(regard.load(tmp_path / "run").predict_proba(cells[300:]), plain, atol=1e-5)


def test_two_classes_are_not_calibrated(blobs: tuple[np.ndarray, np.ndarray]):
    cells, labels = blobs
    model = NPTClassifier(mode="in_context", members=1, random_state=0).fit(cells[:100], labels[:100] % 2)
    assert model.predictors_[0].calibration.temperature == 1


@given(st.integers(1, 10), st.integers(0, 99))
def test_levels_of_calibrated_quantiles_stay_where_they_are(rows: int, seed: int):
    """Of numbers whose quantiles are those of the normal distribution, nothing is to be corrected."""
    levels = quantile_levels(33).double()
    quantiles = torch.from_numpy(norm.ppf(levels))
    numbers = torch.from_numpy(np.random.default_rng(seed).normal(size=400 * rows))
    prediction = torch.cat([torch.zeros(1), quantiles]).double().expand(len(numbers), -1)
    fitted = fit_levels(prediction, numbers)
    assert (fitted.diff() >= 0).all()
    assert ((fitted - levels).abs() < 5 * (levels * (1 - levels) / len(numbers)).sqrt() + 0.02).all()


@pytest.mark.parametrize(("width", "shift"), [(2.0, 0.0), (0.5, 0.0), (1.0, 0.7)])
def test_calibrated_quantiles_hold_as_many_numbers_as_they_should(width: float, shift: float):
    """Predicted too wide, too narrow, or beside the truth."""
    rng, levels = np.random.default_rng(0), quantile_levels(33).double()
    middle = torch.from_numpy(rng.normal(size=4000))[:, None]
    numbers = middle[:, 0] + torch.from_numpy(rng.normal(size=4000))
    quantiles = middle + shift + width * torch.from_numpy(norm.ppf(levels))
    prediction = torch.cat([middle, quantiles], 1)
    calibrated = apply_levels(prediction[2000:], fit_levels(prediction[:2000], numbers[:2000]))
    assert torch.equal(calibrated[:, :1], middle[2000:])
    below = (numbers[2000:, None] < calibrated[:, 1:]).double().mean(0)
    assert ((below - levels).abs() < 0.04).all()


def test_a_number_between_equal_quantiles_has_the_level_between_them():
    prediction = torch.tensor([[0.0, -1.0, 0.0, 0.0, 0.0, 1.0]]).double()
    levels = quantile_levels(5).double()
    (reached,) = _reached_levels(prediction[:, 1:], torch.zeros(1), levels)
    assert reached == pytest.approx(0.5)
    wide = _reached_levels(prediction[:, 1:].expand(2, -1), torch.tensor([-1e9, 1e9]), levels)
    assert wide.tolist() == [-BEYOND, 1 + BEYOND]


def test_intervals_of_real_numbers_cover_what_they_say(tmp_path: Path):
    table, target = load_diabetes(return_X_y=True, as_frame=True)
    model = NPTRegressor(mode="in_context", members=2, random_state=0, weights=REAL).fit(table[:300], target[:300])
    low, median, high = model.predict(table[300:], quantiles=[0.05, 0.5, 0.95]).T
    assert 0.84 < ((target[300:] > low) & (target[300:] < high)).mean() < 0.97
    assert 0.4 < (target[300:] < median).mean() < 0.6
    model.save(tmp_path / "run")
    loaded = regard.load(tmp_path / "run").predict(table[300:], quantiles=[0.05, 0.5, 0.95])
    np.testing.assert_allclose(loaded.T, [low, median, high], rtol=1e-6)
    config = tmp_path / "run" / "config.yaml"
    text = config.read_text()
    for levels, message in (("[0.5, 0.1]", "levels: must ascend"), ("[9.5]", "must be a number from -3 to 4")):
        config.write_text(re.sub(r"levels:\n( +- .*\n)+", f"levels: {levels}\n", text))
        with pytest.raises(UserError, match=message):
            regard.load(tmp_path / "run")


def test_twenty_classes_are_calibrated_as_the_ensemble_predicts_them() -> None:
    """A single member is more confident than their average: its temperature would leave the average too uniform."""
    cells, classes = make_classification(
        1500, 16, n_informative=10, n_classes=20, n_clusters_per_class=1, class_sep=1.5, random_state=4
    )
    order = np.random.default_rng(0).permutation(len(classes))
    known, query = order[:1050], order[1050:]
    model = NPTClassifier(mode="in_context", random_state=0, weights=REAL).fit(cells[known], classes[known])
    predicted = model.predict_proba(cells[query])
    right = model.classes_[predicted.argmax(1)] == classes[query]
    assert abs(predicted.max(1).mean() - right.mean()) < 0.1


def claims(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Most rows have no claim, and a few a large one."""
    rng = np.random.default_rng(seed)
    car = rng.choice(["small", "suv", "sport"], 1000, p=[0.5, 0.4, 0.1])
    amount = np.where(rng.random(1000) < 0.05 + 0.1 * (car == "sport"), np.exp(rng.normal(7, 1, 1000)), 0)
    return pd.DataFrame({"car": car, "age": rng.integers(18, 80, 1000)}), amount


def test_sums_of_predictions_are_near_those_of_a_skewed_target(tmp_path: Path):
    ratios = []
    for seed in range(2):
        table, amount = claims(seed)
        model = NPTRegressor(mode="in_context", members=2, random_state=0, weights=REAL).fit(table, amount)
        new = claims(seed + 10)[0]
        ratios.append(model.predict(new).mean() / amount.mean())
        assert model.predict(new, quantiles=[0.05, 0.5]).min() >= 0, "no training target is negative"
        model.save(tmp_path / f"{seed}")
        assert np.array_equal(regard.load(tmp_path / f"{seed}").predict(new), model.predict(new))
    assert 0.7 < np.mean(ratios) < 1.3


@given(st.floats(0.3, 3), st.integers(0, 99))
def test_means_are_scaled_where_they_are_wrong_by_more_than_chance(factor: float, seed: int):
    rng = np.random.default_rng(seed)
    truth = torch.from_numpy(rng.gamma(4, size=2000))
    numbers = truth * torch.from_numpy(rng.gamma(4, 1 / 4, size=2000))
    scale = fit_scale(truth / factor, numbers, numbers.mean().item())
    assert scale == pytest.approx(factor, rel=0.1)


def test_predictions_without_bias_are_hardly_scaled():
    rng = np.random.default_rng(0)
    scales = []
    for _ in range(50):
        truth = torch.from_numpy(rng.gamma(4, size=300))
        numbers = truth * torch.from_numpy(rng.gamma(1, size=300))
        scales.append(fit_scale(truth, numbers, numbers.mean().item()))
    assert max(abs(scale - 1) for scale in scales) < 0.2
    assert np.mean(scales) == pytest.approx(1, abs=0.02)
    assert fit_scale(torch.tensor([-1.0, -1.0]), torch.tensor([5.0, 5.1]), 5.0) == 1, "no factor changes the sign"
