"""Dropout draws a byte for each state: the share, the mean and the gradient are those of the library's."""

import pytest
import torch

from regard.parts.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_share_and_mean(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.ones(3, 333, 401, dtype=dtype, requires_grad=True)
    y = Dropout(p).train()(x)
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.006)
    assert y.float().mean().item() == pytest.approx(1.0, abs=0.02)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, y.detach())  # of ones: the gradient is the mask itself


def test_neighbours_are_independent() -> None:
    torch.manual_seed(1)
    dropped = Dropout(0.5).train()(torch.ones(1, 200_000)) == 0
    for step in (1, 2, 7, 8):  # eight bytes come from one draw
        both = (dropped[:, step:] & dropped[:, :-step]).float().mean().item()
        assert both == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("p", [0.0, 1.0, 0.001])
def test_extremes_are_the_library_s(p: float) -> None:
    x = torch.randn(5, 1000)
    torch.manual_seed(2)
    ours = Dropout(p).train()(x)
    torch.manual_seed(2)
    torch.testing.assert_close(ours, torch.nn.functional.dropout(x, p))


def test_evaluation_changes_nothing() -> None:
    x = torch.randn(2, 3)
    assert Dropout(0.5).eval()(x) is x
