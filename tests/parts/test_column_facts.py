"""What is said of cells without weights: at any scale, of gaps, and of categories that were never seen."""

import pytest
import torch

from regard.parts.column_facts import ColumnFacts
from regard.parts.resemblance import CHOSEN_BY, some

RANDOM = torch.Generator().manual_seed(0)
NUMBERS = torch.tensor([[False]])


def described(values: torch.Tensor, category: torch.Tensor, known: int) -> torch.Tensor:
    labels = torch.zeros(1, known, 1)
    facts, _ = ColumnFacts.learn(values[:, :known], labels, category).describe(values)
    return facts


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e36])
def test_the_scale_of_a_column_says_nothing(scale: float):
    values = torch.randn(1, 50, 1, generator=RANDOM)
    torch.testing.assert_close(
        described(values * scale, NUMBERS, 40), described(values, NUMBERS, 40), atol=1e-5, rtol=0
    )


def test_a_column_that_never_changes_stands_at_nothing():
    facts = described(torch.full((1, 30, 1), 0.1), NUMBERS, 20)
    assert facts[..., :2].abs().max() == 0


def test_a_category_never_seen_is_no_more_than_yes():
    values = torch.tensor([0.0, 1.0, 0.0, 1.0, 2.0, 1.0])[None, :, None]
    number, rank, share = described(values, torch.tensor([[True]]), 4)[0, :, 0, :3].T
    assert number.tolist() == [-1, 1, -1, 1, 0, 1]
    assert rank.tolist() == [-0.25, 0.25, -0.25, 0.25, 0, 0.25]
    assert share.tolist() == [0.5, 0.5, 0.5, 0.5, 0, 0.5]


def test_rows_are_drawn_without_a_beat():
    """Every twelfth row of a table of months would be January."""
    months = (torch.arange(12 * CHOSEN_BY) % 12)[None, :, None]
    drawn = some(CHOSEN_BY, months)
    assert drawn.shape == (1, CHOSEN_BY, 1)
    assert len(drawn.unique()) == 12
    assert torch.equal(drawn, some(CHOSEN_BY, months))
