"""The Nyström approximation against scikit-learn kernel ridge on the approximate kernel, refitted without each row."""

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge

from regard.closed_form import nystrom
from regard.closed_form.kernel_ridge import KernelRidge
from regard.closed_form.kernels import kernel_matrix
from regard.closed_form.nystrom import JITTER, NystromKernelRidge

RNG = torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def few_landmarks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nystrom, "LANDMARKS", 12)


def approximate_kernel(model: NystromKernelRidge, rows: torch.Tensor, others: torch.Tensor) -> np.ndarray:
    """The kernel between rows, approximated over the landmarks."""
    support = model.support
    inner = kernel_matrix(model.kernels, support, support)[0] + JITTER * torch.eye(support.shape[1])
    left, right = (kernel_matrix(model.kernels, support, each)[0] for each in (rows, others))
    return (left.T @ torch.linalg.solve(inner, right)).numpy()


def test_predictions_are_those_of_kernel_ridge_without_the_row():
    x, y = torch.randn(1, 50, 4, generator=RNG), torch.randn(1, 40, 3, generator=RNG)
    model = NystromKernelRidge.fit(x[:, :40], y)
    assert model.support.shape[1] == 12
    queries, level = x[:, 40:, model.active] * model.scale, model.intercept[0].numpy()
    truth = y[0].numpy() - level
    ridge = SklearnKernelRidge(alpha=model.penalty.item(), kernel="precomputed")
    known = approximate_kernel(model, model.context, model.context)
    ridge.fit(known, truth)
    expected = ridge.predict(approximate_kernel(model, queries, model.context)) + level
    np.testing.assert_allclose(model.predict(x[:, 40:])[0], expected, atol=1e-3)
    for row in range(40):
        others = np.delete(np.arange(40), row)
        expected = ridge.fit(known[np.ix_(others, others)], truth[others]).predict(known[[row]][:, others]) + level
        assert model.leave_one_out[0, row].numpy() == pytest.approx(expected[0], abs=2e-3)


def test_it_is_exact_if_every_row_is_a_landmark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nystrom, "LANDMARKS", 100)
    x, y = torch.randn(2, 100, 5, generator=RNG), torch.randn(2, 80, 2, generator=RNG)
    whole, few = KernelRidge.fit(x[:, :80], y), NystromKernelRidge.fit(x[:, :80], y)
    torch.testing.assert_close(few.predict(x[:, 80:]), whole.predict(x[:, 80:]), atol=0.01, rtol=0)
    torch.testing.assert_close(few.leave_one_out, whole.leave_one_out, atol=0.01, rtol=0)
    torch.testing.assert_close(few.label_weights(x[:, 80:]), whole.label_weights(x[:, 80:]), atol=1e-3, rtol=0)


def test_label_weights_are_the_derivative_of_the_prediction():
    x, y = torch.randn(1, 35, 3, generator=RNG), torch.randn(1, 30, 1, generator=RNG)
    model = NystromKernelRidge.fit(x[:, :30], y)
    kernel = approximate_kernel(model, x[:, 30:, model.active] * model.scale, model.context)
    inverse = np.linalg.inv(approximate_kernel(model, model.context, model.context) + model.penalty.item() * np.eye(30))
    derivative = np.abs(kernel @ inverse)
    np.testing.assert_allclose(
        model.label_weights(x[:, 30:])[0], derivative / derivative.sum(1, keepdims=True), atol=1e-3
    )


def test_equal_rows_are_handled():
    for x in (torch.zeros(1, 60, 3), torch.randn(1, 5, 3, generator=RNG).repeat(1, 12, 1)):
        model = NystromKernelRidge.fit(x, torch.randn(1, 60, 2, generator=RNG))
        assert model.leave_one_out.isfinite().all()
        assert model.predict(torch.randn(1, 4, 3, generator=RNG)).isfinite().all()
