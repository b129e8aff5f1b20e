"""Chances of many classes are as sure as held-out rows allow."""

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
from regard.tables.sharpness import POWERS, best_power, sharpened


def chances(rows: int, classes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, classes, generator=torch.Generator().manual_seed(seed)).softmax(-1)


@given(st.sampled_from(POWERS), st.integers(2, 100), st.integers(0, 99))
def test_a_row_keeps_its_order_and_sums_to_one(power: float, classes: int, seed: int):
    plain = chances(20, classes, seed)
    sharp = sharpened(plain, power)
    assert torch.allclose(sharp.sum(-1), torch.ones(20))
    assert torch.equal(sharp.argmax(-1), plain.argmax(-1))


def test_what_is_impossible_stays_so():
    plain = torch.tensor([[0.7, 0.3, *[0.0] * 98]])
    for power in POWERS:
        assert not sharpened(plain, power)[0, 2:].any()


@pytest.mark.parametrize("power", POWERS)
def test_the_power_that_spoiled_chances_is_found_again(power: float):
    """Truth is drawn by the chances as they should be; what is seen has been spread or narrowed."""
    right = torch.cat([chances(5000, 5, seed) for seed in range(2)])
    truth = torch.multinomial(right, 1, generator=torch.Generator().manual_seed(1))[:, 0].float()
    found = best_power(sharpened(right, 1 / power), truth)
    assert abs(np.log2(found / power)) <= 0.26, "the next step of the grid at most"


def test_few_rows_alone_do_not_make_answers_very_sure():
    one = torch.tensor([[0.4, 0.3, 0.3]])
    assert best_power(one, torch.tensor([0.0])) < 2 < best_power(one.repeat(200, 1), torch.zeros(200))


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(400, 4, centers=12, cluster_std=0.7, random_state=0)


def test_an_easy_table_of_many_classes_is_told_with_certainty(blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path):
    cells, labels = blobs
    model = NPTClassifier(mode="in_context", views=2, random_state=0).fit(cells[:300], labels[:300])
    told = model.predict_proba(cells[300:])
    power = model.answers_[0].sharpness
    assert power > 1
    plain = sharpened(torch.from_numpy(told), 1 / power).numpy()
    assert log_loss(labels[300:], told) < 0.8 * log_loss(labels[300:], plain)
    model.save(tmp_path / "run")
    assert np.array_equal(regard.load(tmp_path / "run").predict_proba(cells[300:]), told)
    config = tmp_path / "run" / CONFIG
    config.write_text("\n".join(line for line in config.read_text().splitlines() if "sharpness" not in line))
    np.testing.assert_allclose(regard.load(tmp_path / "run").predict_proba(cells[300:]), plain, atol=1e-5)


def test_two_classes_are_told_as_they_are(blobs: tuple[np.ndarray, np.ndarray]):
    cells, labels = blobs
    model = NPTClassifier(mode="in_context", views=1, random_state=0).fit(cells[:100], labels[:100] % 2)
    assert model.answers_[0].sharpness == 1
