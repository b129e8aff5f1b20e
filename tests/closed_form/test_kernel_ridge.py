"""Kernel ridge regression and its leave-one-out predictions against scikit-learn, refitted without each row."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.gaussian_process.kernels import Matern as MaternOfSklearn
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge

from regard.closed_form.column_statistics import ColumnStatistics
from regard.closed_form.kernel_ridge import (
    BITS,
    MIN_WEIGHT,
    KernelRidge,
    _category_codes,
    _feature_weights,
    _solve,
    kernel_features,
)
from regard.closed_form.kernels import KERNELS, Kernel, Laplace, Matern, kernel_matrix

RNG = torch.Generator().manual_seed(0)
ORACLES = {
    Laplace: lambda one, other: np.exp(-np.abs(one - other).sum()),
    Matern: lambda one, other: MaternOfSklearn(nu=1.5)(one[None], other[None]).item(),
}


@pytest.mark.parametrize("kernels", [*product(KERNELS, repeat=2)])
def test_predictions_are_those_of_kernel_ridge_without_the_row(kernels: tuple[Kernel, Kernel]):
    x, y = torch.randn(2, 30, 4, generator=RNG), torch.randn(2, 25, 3, generator=RNG)
    known, queries = x[:, :25], x[:, 25:]
    weight, penalty = torch.rand(2, 1, 4, generator=RNG) + 0.2, torch.full((2, 1, 1), 0.3)
    rows, level = known * weight, torch.zeros(2, 1, 3)
    dual_coef, leave_one_out = _solve(kernel_matrix(kernels, rows, rows), y, penalty)
    model = KernelRidge(kernels, torch.arange(4), weight, rows, penalty, dual_coef, level, leave_one_out)
    for table in range(2):
        truth, scaled = y[table].numpy(), (x * weight)[table].numpy()
        ridge = SklearnKernelRidge(alpha=0.3, kernel=ORACLES[type(kernels[table])])
        expected = ridge.fit(scaled[:25], truth).predict(scaled[25:])
        np.testing.assert_allclose(model.predict(queries)[table], expected, atol=1e-4)
        for row in range(25):
            others = np.delete(np.arange(25), row)
            expected = ridge.fit(scaled[others], truth[others]).predict(scaled[[row]])
            assert model.leave_one_out[table, row].numpy() == pytest.approx(expected[0], abs=1e-3)


def test_feature_weights_follow_relevance():
    x = torch.randn(1, 300, 6, generator=RNG)
    y = (3 * x[..., :1]).sin() + x[..., 1:2].abs()
    weight = _feature_weights(x, y - y.mean(1, keepdim=True))[0, 0]
    assert weight[0] == 1
    assert weight[1] > 3 * weight[2:].max()
    assert weight.min() >= MIN_WEIGHT


def test_a_step_and_a_curve_have_the_kernel_that_suits_them():
    x = torch.rand(2, 300, 2, generator=RNG) * 4 - 2
    y = torch.stack(
        [(x[0, :, :1] > 0.3).float() + (x[0, :, 1:] > -0.5).float(), (1.5 * x[1, :, :1]).sin() * x[1, :, 1:]]
    )
    model = KernelRidge.fit(x[:, :200], y[:, :200])
    assert list(model.kernels) == [Laplace(), Matern()]
    assert (model.predict(x[1:, 200:].expand(2, -1, -1))[1] - y[1, 200:]).square().mean() < 1e-3


def test_it_learns_interactions():
    x = torch.randn(1, 500, 8, generator=RNG)
    y = (x[..., :1] * x[..., 1:2]).sign()
    model = KernelRidge.fit(x[:, :400], y[:, :400])
    assert ((model.predict(x[:, 400:]) * y[:, 400:]) > 0).float().mean() > 0.85
    assert ((model.leave_one_out * y[:, :400]) > 0).float().mean() > 0.85


def test_probabilities_of_classes_and_label_weights_sum_to_one():
    x = torch.randn(3, 40, 5, generator=RNG)
    labels = torch.nn.functional.one_hot(torch.randint(0, 4, (3, 30), generator=RNG), 4).float()
    model = KernelRidge.fit(x[:, :30], labels)
    for expected in (
        model.leave_one_out.sum(-1),
        model.predict(x[:, 30:]).sum(-1),
        model.label_weights(x[:, 30:]).sum(-1),
    ):
        torch.testing.assert_close(expected, torch.ones_like(expected), atol=1e-4, rtol=0)


def test_a_batch_of_tables_equals_each_alone():
    x, y = torch.randn(2, 60, 5, generator=RNG), torch.randn(2, 50, 1, generator=RNG)
    together = KernelRidge.fit(x[:, :50], y).predict(x[:, 50:])
    for table in range(2):
        alone = KernelRidge.fit(x[table : table + 1, :50], y[table : table + 1]).predict(x[table : table + 1, 50:])
        torch.testing.assert_close(together[table], alone[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_and_equal_rows_are_handled(rows: int):
    for x in (torch.zeros(1, rows, 3), torch.randn(1, rows, 3, generator=RNG)):
        model = KernelRidge.fit(x, torch.randn(1, rows, 2, generator=RNG))
        assert model.leave_one_out.isfinite().all()
        assert model.predict(torch.randn(1, 4, 3, generator=RNG)).isfinite().all()


def test_category_codes_are_distinct_and_the_first_equally_far_apart():
    codes = _category_codes(torch.device("cpu"))
    assert len(codes.unique(dim=0)) == 2**BITS
    first = torch.cdist(codes[:BITS], codes[:BITS], p=1)
    assert (first == 2 - 2 * torch.eye(BITS)).all()
    values = torch.tensor([[[0.0, 5.0], [1.0, torch.nan], [2.0, 7.0], [0.0, 5.0]]])
    columns = ColumnStatistics.fit(values, torch.zeros(1, 4, 1), torch.tensor([[True, False]]))
    means = columns.target_statistics(values, 4, 1)
    features = kernel_features(values, columns.cell_features(values), means, columns)
    far = torch.cdist(features, features, p=1)[0]
    assert far[0, 3] == 0
    assert features[0, :, 2:4].tolist() == [[0, 0], [0, 1], [0, 0], [0, 0]]  # which cells are missing
    assert features[0, :, 0].abs().sum() == 0  # the code of a category is no number
    assert (far[0, [1, 2]] >= 2).all()


def test_target_statistics_are_ordered_for_context_rows_and_full_for_queries():
    kind = torch.randint(0, 3, (200,), generator=RNG).float()
    labels = torch.randn(200, generator=RNG) + kind
    values = kind[None, :, None]
    columns = ColumnStatistics.fit(values, labels[None, :, None], torch.tensor([[True]]))
    queries = columns.target_statistics(torch.tensor([[[0.0], [1.0], [2.0], [9.0]]]), 0, 1)[0, :, 0, 0]
    mean, deviation = labels.mean(), labels.std(correction=0)
    for number in range(3):
        own = labels[kind == number]
        expected = ((own.sum() + mean) / (len(own) + 1) - mean) / deviation
        assert queries[number].item() == pytest.approx(expected.item(), abs=1e-4)
    assert queries[3].abs() < 1e-5  # unseen category: the overall mean
    expected = columns.target_statistics(values, 200, 1)[0, :, 0, 0]
    for row in range(200):  # whatever its own label is, a known row is expected the same
        other = labels.clone()
        other[row] += 100
        changed = ColumnStatistics.fit(values, other[None, :, None], torch.tensor([[True]]))
        before, after = (x.label_sums[0, 0, :, 0].diff() for x in (columns, changed))
        assert (before[: columns.rank[0, row, 0]] == after[: columns.rank[0, row, 0]]).all()
    assert expected.abs().max() < 3
