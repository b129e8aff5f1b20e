"""Rows that are copies of each other are left out together: against fits that do not have any of them."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge as SklearnRidge

from regard.closed_form import ColumnStatistics, Copies, RowFeatures, fit_closed_forms, kernel_ridge, nystrom, ridge
from regard.closed_form.column_statistics import RADII
from regard.closed_form.kernel_ridge import KernelRidge
from regard.closed_form.kernels import Laplace
from regard.closed_form.nystrom import JITTER, NystromKernelRidge
from regard.closed_form.ridge import Ridge

SOURCE = torch.tensor([3, 0, 1, 1, 2, 0, 4, 5, 3, 3, 6, 7, 8, 8, 9, 10, 11, 12, 3, 13])
PENALTY = 0.3


def some_rows(columns: int = 3, labels: int = 2) -> tuple[torch.Tensor, torch.Tensor, Copies]:
    """Rows with copies, in one table of float64."""
    rng = torch.Generator().manual_seed(0)
    x, y = (torch.randn(20, count, generator=rng, dtype=torch.double) for count in (columns, labels))
    copies = Copies.of(SOURCE)
    assert copies is not None
    return x[SOURCE][None], y[SOURCE][None], copies


def others_of(row: int) -> np.ndarray:
    return np.flatnonzero(SOURCE.numpy() != SOURCE[row].item())


def test_copies_are_the_rows_of_one_source():
    copies = Copies.of(torch.tensor([7, 2, 7, 5, 2, 7]))
    assert copies is not None
    assert copies.of_each.tolist() == [3, 2, 3, 1, 2, 3]
    assert copies.first.tolist() == [1, 3, 0]
    assert copies.earliest(torch.arange(6).flip(0)[None, :, None])[0, :, 0].tolist() == [0, 1, 0, 2, 1, 0]
    assert Copies.of(None) is None
    assert Copies.of(torch.arange(5)) is None


def test_ridge_leaves_all_copies_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ridge, "PENALTIES", (PENALTY,))
    x, y, copies = some_rows()
    predicted = Ridge.fit(x, y, copies.of_each.double()).leave_one_out[0].numpy()
    for row in range(len(SOURCE)):
        rest = others_of(row)
        expected = SklearnRidge(PENALTY).fit(x[0, rest], y[0, rest]).predict(x[0, [row]])[0]
        np.testing.assert_allclose(predicted[row], expected, rtol=1e-6, atol=1e-6)


def fixed_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bandwidth and one penalty, so that no search decides."""

    def select(features: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        scale = features.new_ones(1, 1, features.shape[2])
        return [LAPLACE], torch.arange(features.shape[2]), scale, features.new_full((1, 1, 1), PENALTY)

    for module in (kernel_ridge, nystrom):
        monkeypatch.setattr(module, "select_kernel", select)


LAPLACE = Laplace()


def without(kernel: np.ndarray, y: np.ndarray, row: int) -> np.ndarray:
    """What the other rows, copies of others among them, predict for a row."""
    rest, level = others_of(row), y.mean(0)
    dual = np.linalg.solve(kernel[np.ix_(rest, rest)] + PENALTY * np.eye(len(rest)), y[rest] - level)
    return kernel[row, rest] @ dual + level


def test_kernel_ridge_leaves_all_copies_out(monkeypatch: pytest.MonkeyPatch):
    fixed_kernel(monkeypatch)
    x, y, copies = some_rows()
    model = KernelRidge.fit(x, y, copies)
    kernel = LAPLACE.matrix(x, x)[0].numpy()
    inverse = np.linalg.inv(kernel + PENALTY * np.eye(20))
    times, centred = copies.of_each.double().numpy()[:, None], y[0].numpy() - y[0].numpy().mean(0)
    # The same in terms of the rows as they are repeated; it loses digits where the penalty is small.
    formula = y[0].numpy() - inverse @ centred / (times * np.diag(inverse)[:, None] - (times - 1) / PENALTY)
    np.testing.assert_allclose(model.leave_one_out[0], formula, rtol=1e-6, atol=1e-6)
    for row in range(20):
        np.testing.assert_allclose(model.leave_one_out[0, row], without(kernel, y[0].numpy(), row), atol=1e-6)
    queries = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    repeated = KernelRidge.fit(x, y)
    torch.testing.assert_close(model.predict(queries), repeated.predict(queries), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(model.label_weights(queries), repeated.label_weights(queries), atol=1e-6, rtol=1e-6)


def test_nystrom_leaves_all_copies_out(monkeypatch: pytest.MonkeyPatch):
    fixed_kernel(monkeypatch)
    monkeypatch.setattr(nystrom, "LANDMARKS", 7)
    x, y, copies = some_rows()
    model = NystromKernelRidge.fit(x, y, copies)
    inner = LAPLACE.matrix(model.support, model.support)[0].numpy() + JITTER * np.eye(7)
    to_landmarks = LAPLACE.matrix(x, model.support)[0].numpy()
    kernel = to_landmarks @ np.linalg.solve(inner, to_landmarks.T)
    for row in range(20):
        np.testing.assert_allclose(model.leave_one_out[0, row], without(kernel, y[0].numpy(), row), atol=1e-5)
    query = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    weights = np.abs(
        LAPLACE.matrix(query, model.support)[0].numpy()
        @ np.linalg.solve(inner, to_landmarks.T)
        @ np.linalg.inv(kernel + PENALTY * np.eye(20))
    )
    np.testing.assert_allclose(model.label_weights(query)[0], weights / weights.sum(1, keepdims=True), atol=1e-5)


def coarse_table() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Copies]:
    """Cells that many rows share by themselves, missing ones and categories, and copies of some of the rows."""
    rng = torch.Generator().manual_seed(0)
    source = torch.randint(0, 60, (120,), generator=rng)
    values = torch.stack([torch.randint(0, most, (60,), generator=rng).float() for most in (9, 4, 40)], 1)
    values[::7, 2] = torch.nan
    copies = Copies.of(source)
    assert copies is not None
    return values[source][None], torch.randn(60, 2, generator=rng)[source][None], source, copies


def test_label_means_do_not_count_copies():
    values, labels, source, copies = coarse_table()
    category = torch.tensor([[False, True, False]])
    columns = ColumnStatistics.fit(values, labels, category, copies)
    _, means = columns.describe(values, labels, copies.of_each)
    overall = labels[0].mean(0)
    for row, column in [(row, column) for row in range(120) for column in range(3)]:
        cells = values[0, :, column]
        own, known = cells[row], ~cells.isnan()
        drawn = torch.randperm(120, generator=torch.Generator().manual_seed(0))  # which of equal cells come first
        ranked = drawn[cells[drawn].nan_to_num(torch.inf).argsort(stable=True)][: int(known.sum())]
        for place, radius in enumerate(RADII):
            if own.isnan():
                near = ~known
            else:
                reach = 0 if category[0, column] else int(radius * len(ranked))
                equal = (cells[ranked] == own).nonzero()[:, 0]
                near = torch.zeros(120, dtype=torch.bool)
                near[ranked[max(0, int(equal[0]) - reach) : int(equal[-1]) + 1 + reach]] = True
            near &= source != source[row]
            expected = (labels[0, near].sum(0) + overall) / (near.sum() + 1)
            torch.testing.assert_close(means[0, row, column, place, :-1], expected, atol=1e-4, rtol=1e-4)


def test_target_statistics_read_no_copy():
    values, _, _, copies = coarse_table()
    which = torch.nn.functional.one_hot(copies.group).float()[None]  # by which sums tell whose labels they hold
    columns = ColumnStatistics.fit(values, which, torch.ones(1, 3, dtype=torch.bool), copies)
    first, _ = columns._equal_range(values)
    sums = columns._sum_between(columns.label_sums, first.long(), columns.rank)[0]
    assert sums.sum() > 0
    assert (sums.gather(2, copies.group[:, None, None].expand(-1, 3, 1)) == 0).all()
    assert torch.equal(columns.rank, columns.rank[:, copies.first][:, copies.group])


@pytest.mark.parametrize("classes", [0, 3])
def test_copies_have_the_same_features_and_do_not_see_their_label(classes: int):
    """With a target of noise, a row with copies is predicted no better than others; repeated by itself it would be."""
    rng = torch.Generator().manual_seed(0)
    source = torch.arange(150).repeat_interleave(torch.randint(1, 5, (150,), generator=rng))
    values, category = torch.randn(150, 4, generator=rng)[source][None], torch.zeros(1, 4, dtype=torch.bool)
    labels = torch.randn(150, 1, generator=rng)
    if classes:
        labels = torch.nn.functional.one_hot(torch.randint(0, 3, (150,), generator=rng), 3).float()
    labels = labels[source][None]
    copies = Copies.of(source)
    features = RowFeatures.of_table(values, category, labels, classes, copies)
    for each in (features.cells, features.label_means, features.closed):
        assert torch.equal(each[:, copies.first][:, copies.group], each)
    for method in range(2):
        error = (features.closed[:, :, method] - labels).square().mean()
        assert error > 0.95 * labels.var(1, correction=0).mean()
    repeated = fit_closed_forms(values, category, labels, classes).leave_one_out[:, :, 1]
    assert (repeated - labels).square().mean() < 0.9 * labels.var(1, correction=0).mean()


def test_rows_without_copies_are_described_as_before():
    values, labels, _, copies = coarse_table()
    values, labels = values[:, copies.first], labels[:, copies.first]
    category = torch.tensor([[False, True, False]])
    ones = Copies(torch.arange(len(copies.first)), torch.arange(len(copies.first)), torch.ones(len(copies.first)))
    plain, counted = (RowFeatures.of_table(values, category, labels, 0, each) for each in (None, ones))
    for name in ("cells", "label_means", "closed"):
        assert torch.equal(getattr(plain, name), getattr(counted, name))
