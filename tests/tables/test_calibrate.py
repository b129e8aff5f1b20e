"""Temperature calibration: probabilities of many classes are as confident as held-out rows allow."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

import regard
from regard.store import CONFIG
from regard.tables import NPTClassifier
from regard.tables.calibrate import TEMPERATURES, apply_temperature, fit_temperature


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
    temperature = model.predictors_[0].temperature
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
    assert model.predictors_[0].temperature == 1
