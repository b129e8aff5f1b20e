"""Recurrent cells: padding is not there, both directions meet, and a text may be read in pieces."""

import pytest
import torch

from regard.parts import Cell
from regard.parts.recurrent import both_directions
from tests.helpers import close, over, valid_of

LENGTHS = [6, 3, 1]


def read(config, both_ways: bool):
    return config.build(5, 4, 2, 0.0, both_ways)


@over(Cell, "config")
@pytest.mark.parametrize("both_ways", [False, True])
def test_padding_is_invisible(config, both_ways):
    cells, x, valid = read(config, both_ways), torch.randn(3, 6, 5), valid_of(LENGTHS)
    states, carry = cells(x, valid=valid)
    other, other_carry = cells(torch.where(valid[..., None], x, torch.randn_like(x)), valid=valid)
    for row, length in enumerate(LENGTHS):
        alone, alone_carry = cells(x[row : row + 1, :length])
        close(states[row, :length], alone[0])
        for part, own in zip(carry, alone_carry, strict=True):
            close(part[:, row], own[:, 0])
    close(states, other)
    close(carry[0], other_carry[0])


@over(Cell, "config")
def test_a_text_may_be_read_in_pieces(config):
    cells, x = read(config, both_ways=False), torch.randn(3, 6, 5)
    whole, end = cells(x)
    carry = None
    for start, stop in [(0, 1), (1, 4), (4, 6)]:
        states, carry = cells(x[:, start:stop], carry)
        close(states, whole[:, start:stop])
    for one, other in zip(carry, end, strict=True):
        close(one, other)


@over(Cell, "config")
def test_one_direction_never_sees_the_future_and_both_do(config):
    x = torch.randn(1, 6, 5)
    later = torch.cat([x[:, :3], torch.randn(1, 3, 5)], 1)
    one_way, both_ways = read(config, False), read(config, True)
    close(one_way(later)[0][:, :3], one_way(x)[0][:, :3])
    assert not torch.allclose(both_ways(later)[0][:, :3], both_ways(x)[0][:, :3])


@over(Cell, "config")
def test_the_carry_of_both_directions_is_where_each_one_ends(config):
    """For the top layer: forwards ends at the last token, backwards at the first."""
    cells, x = read(config, both_ways=True), torch.randn(3, 6, 5)
    states, carry = cells(x)
    joined = both_directions(carry)
    assert joined[0].shape == (2, 3, 8)
    close(joined[0][-1], torch.cat([states[:, -1, :4], states[:, 0, 4:]], -1))
