"""Blocks of tables: every wiring serves them, with the rows that are attended to and those that attend."""

import itertools

import pytest
import torch

from regard.models import NPT, InContext
from regard.parts import LayerNorm, Wiring
from regard.parts.cache import KVCache
from regard.parts.table_block import TableContext, table_block
from regard.parts.trunk import Trunk
from tests.helpers import HEADS, WIDTH, close, every_small, over

SIZES = {"width": WIDTH, "heads": HEADS, "layers": 2, "dropout": 0.0}


def built(wiring: Wiring) -> torch.nn.Module:
    return with_random_norms(table_block(Trunk(wiring=wiring, norm=LayerNorm(), **SIZES)))


def with_random_norms(module: torch.nn.Module) -> torch.nn.Module:
    for name, parameter in module.named_parameters():
        if "_norm." in name or "_end." in name:
            torch.nn.init.normal_(parameter)
    return module


@over(Wiring, "wiring")
def test_only_queries_are_passed_on(wiring):
    block, x = built(wiring), torch.randn(3, 7, WIDTH)
    close(block(x, TableContext(queries=2)), block(x)[:, :2])


@over(Wiring, "wiring")
def test_only_known_rows_are_attended_to(wiring):
    block, x = built(wiring), torch.randn(3, 7, WIDTH)
    some = block(x, TableContext(known=5))
    close(some[:, :5], block(x[:, :5]))
    close(some[:, 5:6], block(x[:, :6], TableContext(known=5))[:, 5:])
    cache = KVCache(5)
    close(block(x[:, :5], TableContext(cache=cache, known=5)), some[:, :5])
    close(block(x[:, 5:], TableContext(cache=cache, known=0)), some[:, 5:])


@pytest.mark.parametrize("kind", [NPT, InContext])
def test_every_wiring_reaches_the_models(kind):
    """The same weights, as far as the wirings share them, give other answers."""
    answers = []
    for wiring in every_small(Wiring):
        torch.manual_seed(0)
        sizes = {"categories": (0, 3, 2)} if kind is NPT else {"cell_width": 8, "thinking_rows": 2, "quantiles": 5}
        model = with_random_norms(kind(wiring=wiring, norm=LayerNorm(), **SIZES, **sizes).build())
        torch.manual_seed(1)
        x = torch.randn(1, 4, 3, WIDTH) if kind is NPT else torch.randn(1, 4, WIDTH)
        for row in model.rows:
            x = row(x)
        answers.append(x)
    assert not any(torch.allclose(one, other) for one, other in itertools.combinations(answers, 2))
