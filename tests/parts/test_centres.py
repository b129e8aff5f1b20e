"""Rows that speak through centres, beside scikit-learn's kernel ridge that is fitted anew without each row."""

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from regard.parts import centres
from regard.parts.centres import TINY, ResemblanceByCentres
from regard.parts.resemblance import Resemblance, near

RANDOM = torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def few_centres(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(centres, "CENTRES", 12)


def through_centres(like: ResemblanceByCentres, rows: torch.Tensor, others: torch.Tensor) -> np.ndarray:
    """How much rows resemble others, by way of the centres."""
    inner = near(like.rows, like.rows)[0] + TINY * torch.eye(like.rows.shape[1])
    return (near(rows, like.rows)[0] @ torch.linalg.solve(inner, near(like.rows, others)[0])).numpy()


def test_guesses_are_those_of_kernel_ridge_without_the_row():
    x, y = torch.randn(1, 50, 4, generator=RANDOM), torch.randn(1, 40, 3, generator=RANDOM)
    like = ResemblanceByCentres.fit(x[:, :40], y)
    assert like.rows.shape[1] == 12
    asked, level = x[:, 40:, like.told] * like.weight, like.level[0].numpy()
    truth = y[0].numpy() - level
    ridge = KernelRidge(alpha=like.penalty.item(), kernel="precomputed")
    known = through_centres(like, like.known, like.known)
    ridge.fit(known, truth)
    told = ridge.predict(through_centres(like, asked, like.known)) + level
    np.testing.assert_allclose(like.guess(x[:, 40:])[0], told, atol=1e-3)
    for row in range(40):
        others = np.delete(np.arange(40), row)
        told = ridge.fit(known[np.ix_(others, others)], truth[others]).predict(known[[row]][:, others]) + level
        assert like.own[0, row].numpy() == pytest.approx(told[0], abs=2e-3)


def test_where_every_row_is_a_centre_nothing_is_lost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(centres, "CENTRES", 100)
    x, y = torch.randn(2, 100, 5, generator=RANDOM), torch.randn(2, 80, 2, generator=RANDOM)
    whole, few = Resemblance.fit(x[:, :80], y), ResemblanceByCentres.fit(x[:, :80], y)
    torch.testing.assert_close(few.guess(x[:, 80:]), whole.guess(x[:, 80:]), atol=0.01, rtol=0)
    torch.testing.assert_close(few.own, whole.own, atol=0.01, rtol=0)
    torch.testing.assert_close(few.shares(x[:, 80:]), whole.shares(x[:, 80:]), atol=1e-3, rtol=0)


def test_a_share_is_how_far_the_guess_follows_the_label():
    x, y = torch.randn(1, 35, 3, generator=RANDOM), torch.randn(1, 30, 1, generator=RANDOM)
    like = ResemblanceByCentres.fit(x[:, :30], y)
    resembled = through_centres(like, x[:, 30:, like.told] * like.weight, like.known)
    inverse = np.linalg.inv(through_centres(like, like.known, like.known) + like.penalty.item() * np.eye(30))
    follows = np.abs(resembled @ inverse)
    np.testing.assert_allclose(like.shares(x[:, 30:])[0], follows / follows.sum(1, keepdims=True), atol=1e-3)


def test_rows_that_are_all_alike_are_no_trouble():
    for x in (torch.zeros(1, 60, 3), torch.randn(1, 5, 3, generator=RANDOM).repeat(1, 12, 1)):
        like = ResemblanceByCentres.fit(x, torch.randn(1, 60, 2, generator=RANDOM))
        assert like.own.isfinite().all()
        assert like.guess(torch.randn(1, 4, 3, generator=RANDOM)).isfinite().all()
