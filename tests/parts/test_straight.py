"""The straight guess beside scikit-learn's ridge regression, fitted once more for every row that is left out."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from regard.parts import straight
from regard.parts.straight import StraightLine


@pytest.mark.parametrize(("rows", "entries"), [(30, 3), (24, 20)])
@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_guesses_are_those_of_ridge_without_the_row(
    rows: int, entries: int, penalty: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(straight, "PENALTIES", (penalty,))
    dice = np.random.default_rng(0)
    x, y = dice.normal(size=(2, rows + 5, entries)), dice.normal(size=(2, rows, 3))
    design = torch.from_numpy(x).float()
    line = StraightLine.fit(design[:, :rows], torch.from_numpy(y).float())
    new = line.guess(design[:, rows:])
    for table in range(2):
        known, asked, truth = x[table, :rows], x[table, rows:], y[table]
        assert np.allclose(new[table], Ridge(penalty).fit(known, truth).predict(asked), atol=1e-3)
        for row in range(rows):
            others = np.delete(np.arange(rows), row)
            told = Ridge(penalty).fit(known[others], truth[others]).predict(known[[row]])
            assert line.own[table, row].numpy() == pytest.approx(told[0], abs=5e-3)


def test_the_penalty_is_chosen_for_each_label():
    dice = torch.Generator().manual_seed(0)
    x = torch.randn(1, 40, 30, generator=dice)
    straight_label, noise = x[0] @ torch.randn(30, generator=dice), torch.randn(40, generator=dice)
    line = StraightLine.fit(x, torch.stack([straight_label, noise], 1)[None])
    assert (line.own[0, :, 0] - straight_label).square().mean() < 0.05 * straight_label.var()
    assert line.slope[0, :, 1].norm() < 0.5 * noise.norm()


def test_more_columns_than_rows_and_columns_that_repeat_are_no_trouble():
    dice = torch.Generator().manual_seed(0)
    x = torch.randn(1, 5, 8, generator=dice).repeat(1, 1, 4)
    line = StraightLine.fit(x, torch.randn(1, 5, 2, generator=dice))
    assert line.own.isfinite().all()
    assert line.guess(x).isfinite().all()
