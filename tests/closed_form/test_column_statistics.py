"""Cell features: independent of scale, and defined for missing cells and unseen categories."""

import pytest
import torch

from regard.closed_form.column_statistics import ColumnStatistics
from regard.closed_form.kernel_ridge import SEARCH_ROWS, subsample

RNG = torch.Generator().manual_seed(0)
NUMBERS = torch.tensor([[False]])


def described(values: torch.Tensor, category: torch.Tensor, known: int) -> torch.Tensor:
    labels = torch.zeros(1, known, 1)
    return ColumnStatistics.fit(values[:, :known], labels, category).cell_features(values)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e36])
def test_features_do_not_depend_on_scale(scale: float):
    values = torch.randn(1, 50, 1, generator=RNG)
    torch.testing.assert_close(
        described(values * scale, NUMBERS, 40), described(values, NUMBERS, 40), atol=1e-5, rtol=0
    )


def test_a_constant_column_has_value_and_rank_zero():
    facts = described(torch.full((1, 30, 1), 0.1), NUMBERS, 20)
    assert facts[..., :2].abs().max() == 0


def test_an_unseen_category_has_value_and_rank_zero():
    values = torch.tensor([0.0, 1.0, 0.0, 1.0, 2.0, 1.0])[None, :, None]
    number, rank, share = described(values, torch.tensor([[True]]), 4)[0, :, 0, :3].T
    assert number.tolist() == [-1, 1, -1, 1, 0, 1]
    assert rank.tolist() == [-0.25, 0.25, -0.25, 0.25, 0, 0.25]
    assert share.tolist() == [0.5, 0.5, 0.5, 0.5, 0, 0.5]


def test_subsampling_is_random_not_periodic():
    """Every twelfth row of monthly data would be January."""
    months = (torch.arange(12 * SEARCH_ROWS) % 12)[None, :, None]
    drawn = subsample(SEARCH_ROWS, months)
    assert drawn.shape == (1, SEARCH_ROWS, 1)
    assert len(drawn.unique()) == 12
    assert torch.equal(drawn, subsample(SEARCH_ROWS, months))
