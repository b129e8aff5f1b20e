"""Ridge regression and its leave-one-out predictions against scikit-learn, refitted without each row."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge as SklearnRidge

from regard.closed_form import ridge
from regard.closed_form.ridge import Ridge


@pytest.mark.parametrize(("rows", "entries"), [(30, 3), (24, 20)])
@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_predictions_are_those_of_ridge_without_the_row(
    rows: int, entries: int, penalty: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ridge, "PENALTIES", (penalty,))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, rows + 5, entries)), rng.normal(size=(2, rows, 3))
    design = torch.from_numpy(x).float()
    model = Ridge.fit(design[:, :rows], torch.from_numpy(y).float())
    new = model.predict(design[:, rows:])
    for table in range(2):
        known, queries, truth = x[table, :rows], x[table, rows:], y[table]
        assert np.allclose(new[table], SklearnRidge(penalty).fit(known, truth).predict(queries), atol=1e-3)
        for row in range(rows):
            others = np.delete(np.arange(rows), row)
            expected = SklearnRidge(penalty).fit(known[others], truth[others]).predict(known[[row]])
            assert model.leave_one_out[table, row].numpy() == pytest.approx(expected[0], abs=5e-3)


def test_the_penalty_is_chosen_for_each_label():
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(1, 40, 30, generator=rng)
    linear_label, noise = x[0] @ torch.randn(30, generator=rng), torch.randn(40, generator=rng)
    model = Ridge.fit(x, torch.stack([linear_label, noise], 1)[None])
    assert (model.leave_one_out[0, :, 0] - linear_label).square().mean() < 0.05 * linear_label.var()
    assert model.coef[0, :, 1].norm() < 0.5 * noise.norm()


def test_more_columns_than_rows_and_columns_that_repeat_are_no_trouble():
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(1, 5, 8, generator=rng).repeat(1, 1, 4)
    model = Ridge.fit(x, torch.randn(1, 5, 2, generator=rng))
    assert model.leave_one_out.isfinite().all()
    assert model.predict(x).isfinite().all()
