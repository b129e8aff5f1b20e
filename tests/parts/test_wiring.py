"""Norms, joints and stacks: what flows between blocks."""

import pytest
import torch

from regard.parts import (
    GELU,
    Block,
    LayerNorm,
    MultiHead,
    NoNorm,
    NoResidual,
    Norm,
    PostNorm,
    PreNorm,
    RMSNorm,
    Stack,
    Wiring,
)
from regard.parts.positions import NoPosition
from regard.parts.trunk import Trunk
from tests.helpers import HEADS, SIZE, WIDTH, close, over


@over(Norm, "config")
def test_a_norm_sees_one_token_at_a_time(config):
    norm, x = config.build(WIDTH), torch.randn(3, 5, WIDTH)
    close(norm(x)[1, 2], norm(x[1, 2]))
    assert norm(torch.zeros(2, WIDTH)).isfinite().all()


def test_norms_are_their_formulas():
    x = torch.randn(3, 5, WIDTH)
    centred = x - x.mean(-1, keepdim=True)
    close(LayerNorm().build(WIDTH)(x), centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt())
    close(RMSNorm().build(WIDTH)(x), x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt())
    assert torch.equal(NoNorm().build(WIDTH)(x), x)


@pytest.mark.parametrize("size", [0.0, 1e-4, 1.0, 1e4])
def test_the_root_mean_square_of_few_numbers_is_that_of_many(size: float):
    norm = RMSNorm().build(WIDTH)
    torch.nn.init.normal_(norm.weight)
    x = size * torch.randn(3, 5, WIDTH)
    with torch.no_grad():
        few = norm(x)
    close(few, norm(x).detach())


FORMULAS = {
    PreNorm: lambda x, norm, sublayer: x + sublayer(norm(x)),
    PostNorm: lambda x, norm, sublayer: norm(x + sublayer(x)),
    NoResidual: lambda x, norm, sublayer: sublayer(norm(x)),
}


@pytest.mark.parametrize("kind", FORMULAS)
def test_a_joint_is_the_picture_in_its_paper(kind):
    joint, x = kind().build(WIDTH, LayerNorm(), 0.0), torch.randn(3, 5, WIDTH)
    torch.nn.init.normal_(joint.norm.weight)
    close(joint(x, torch.sin), FORMULAS[kind](x, joint.norm, torch.sin))


@over(Wiring, "config")
def test_dropout_falls_on_the_sublayer_in_training_only(config):
    joint, x = config.build(WIDTH, NoNorm(), 0.5), torch.randn(20, WIDTH)
    added = joint(x, lambda h: torch.full_like(h, 10.0)) - joint(x, torch.zeros_like)
    assert set(added.round().unique().tolist()) == {0.0, 20.0}
    joint.eval()
    added = joint(x, lambda h: torch.full_like(h, 10.0)) - joint(x, torch.zeros_like)
    close(added, torch.full_like(x, 10.0), 1e-4)


@over(Wiring, "config")
def test_whatever_the_wiring_a_stack_ends_with_a_norm(config):
    stack = Trunk(width=WIDTH, heads=HEADS, layers=3, wiring=config, norm=LayerNorm(), dropout=0.0).stack(causal=False)
    states = stack(100 * torch.randn(2, 7, WIDTH))
    close(states.mean(-1), torch.zeros(2, 7), 1e-4)
    close(states.std(-1, unbiased=False), torch.ones(2, 7), 1e-2)


def test_a_stack_is_its_blocks_in_a_row():
    blocks = [Block(WIDTH, MultiHead(WIDTH, HEADS), GELU().build(WIDTH), LayerNorm()) for _ in range(3)]
    stack = Stack(blocks, NoPosition().build(WIDTH, HEADS, SIZE, False), torch.nn.Identity())
    x = expected = torch.randn(2, 5, WIDTH)
    for block in blocks:
        expected = block(expected)
    close(stack(x), expected)
