"""Norms, wirings and stacks: what flows between blocks."""

import pytest
import torch

from regard.parts import (
    GELU,
    Block,
    Feed,
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
from regard.parts.trunk import SequenceTrunk
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


def built(wiring: Wiring, norm: Norm, dropout: float = 0.0, feed: Feed | None = GELU()) -> Block:
    return wiring.block(WIDTH, MultiHead(WIDTH, HEADS), feed and feed.build(WIDTH), norm, dropout)


FORMULAS = {
    PreNorm: lambda x, norm, branch: x + branch(norm(x)),
    PostNorm: lambda x, norm, branch: norm(x + branch(x)),
    NoResidual: lambda x, norm, branch: branch(norm(x)),
}


@pytest.mark.parametrize("kind", FORMULAS)
def test_a_block_is_the_picture_in_its_paper(kind):
    block, x = built(kind(), LayerNorm()), torch.randn(3, 5, WIDTH)
    for norm in (block.attend_norm, block.feed_norm):
        torch.nn.init.normal_(norm.weight)
    looked = FORMULAS[kind](x, block.attend_norm, block.attend)
    close(block(x), FORMULAS[kind](looked, block.feed_norm, block.feed))
    without = built(kind(), LayerNorm(), feed=None)
    close(without(x), FORMULAS[kind](x, without.attend_norm, without.attend))


@over(Wiring, "config")
def test_dropout_falls_on_the_branch_in_training_only(config):
    block, x = built(config, NoNorm(), 0.5, feed=None), torch.randn(2, 20, WIDTH)
    whole = block.eval()(x) - x if not isinstance(config, NoResidual) else block.eval()(x)
    dropped = block.train()(x) - (0 if isinstance(config, NoResidual) else x)
    kept = dropped.abs() > 1e-5
    close(dropped[kept], 2 * whole[kept], 1e-4)
    assert 0.3 < kept.float().mean() < 0.7


@over(Wiring, "config")
def test_whatever_the_wiring_a_stack_ends_with_a_norm(config):
    stack = SequenceTrunk(width=WIDTH, heads=HEADS, layers=3, wiring=config, norm=LayerNorm(), dropout=0.0).stack(
        causal=False
    )
    states = stack(100 * torch.randn(2, 7, WIDTH))
    close(states.mean(-1), torch.zeros(2, 7), 1e-4)
    close(states.std(-1, unbiased=False), torch.ones(2, 7), 1e-2)


def test_a_stack_is_its_blocks_in_a_row():
    blocks = [built(PreNorm(), LayerNorm()) for _ in range(3)]
    stack = Stack(blocks, NoPosition().build(WIDTH, HEADS, SIZE, False), torch.nn.Identity())
    x = expected = torch.randn(2, 5, WIDTH)
    for block in blocks:
        expected = block(expected)
    close(stack(x), expected)
