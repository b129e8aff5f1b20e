"""Muon against torch's own, matrix by matrix."""

import pytest
import torch
from torch import nn

from regard.train.muon import MuonOptimiser, orthogonalise

SHAPES = [(6, 6), (6, 6), (12, 5), (5, 12)]


@pytest.mark.parametrize("fast", [True, False])
def test_steps_are_those_of_torch(fast, monkeypatch):
    monkeypatch.setattr("regard.train.muon.has_fast_bfloat16", lambda device: fast)
    torch.manual_seed(0)
    ours = [nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    theirs = [nn.Parameter(each.detach().clone()) for each in ours]
    optimisers = (
        MuonOptimiser(ours, lr=0.02, weight_decay=0.1, momentum=0.9),
        torch.optim.Muon(theirs, lr=0.02, weight_decay=0.1, momentum=0.9),
    )
    for _ in range(4):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        for optimiser in optimisers:
            optimiser.step()
    for mine, other in zip(ours, theirs, strict=True):
        # torch computes the direction in bfloat16, whose products have errors of about one percent.
        torch.testing.assert_close(mine, other, atol=2e-3, rtol=0)


def test_singular_values_become_about_one():
    spread = torch.linalg.svdvals(orthogonalise(torch.randn(3, 16, 40)).float())
    assert spread.min() > 0.5
    assert spread.max() < 1.3


def test_a_matrix_without_gradient_stays(monkeypatch):
    still, moved = nn.Parameter(torch.ones(3, 3)), nn.Parameter(torch.ones(3, 3))
    moved.grad = torch.randn(3, 3)
    MuonOptimiser([still, moved], lr=0.1, weight_decay=0.5, momentum=0.9).step()
    assert torch.equal(still, torch.ones(3, 3))
    assert not torch.equal(moved, torch.ones(3, 3))
