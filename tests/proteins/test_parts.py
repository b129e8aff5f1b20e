"""The parts of the Evoformer against loops that are too slow to be wrong, and what the model may not depend on."""

from dataclasses import replace

import pytest
import torch

from regard.models import Evoformer
from regard.parts import LayerNorm, MultiHead, listen
from regard.parts.axial import AxialAttention
from regard.parts.outer_product import OuterProductMean
from regard.parts.pair_window import PairWindow
from regard.parts.triangles import TriangleAttention, TriangleMultiplication
from tests.helpers import close
from tests.models.samples import BASES, alignment_inputs

BATCH, ROWS, LENGTH, WIDTH, HEADS = 2, 3, 5, 8, 2


def lookup(attend: MultiHead, line: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    """Attention of one line, one query and one head at a time."""
    out = torch.zeros_like(line)
    for head in range(HEADS):
        some = slice(head * attend.head_size, (head + 1) * attend.head_size)
        q, k, v = (part(line)[:, some] for part in (attend.query, attend.key, attend.value))
        for query in range(len(line)):
            scores = torch.stack([q[query] @ k[key] * attend.head_size**-0.5 for key in range(len(line))])
            out[query, some] = (scores + added[query, :, head]).softmax(0) @ v
    return attend.out(out)


def test_attention_along_rows_adds_what_the_pairs_say():
    attention = AxialAttention(MultiHead(WIDTH, HEADS), "row", pair_width=4)
    x, pair = torch.randn(BATCH, ROWS, LENGTH, WIDTH), torch.randn(BATCH, LENGTH, LENGTH, 4)
    attended = attention(x, pair=pair)
    for batch in range(BATCH):
        for row in range(ROWS):
            expected = lookup(attention.attend, x[batch, row], attention.bias(pair[batch]))
            close(attended[batch, row], expected, 1e-5)
    close(attention(x[:1], pair=pair[:1]), attended[:1], 1e-5)


def test_attention_along_columns_is_that_along_rows_of_the_turned_table():
    attention = AxialAttention(MultiHead(WIDTH, HEADS), "column")
    x = torch.randn(BATCH, ROWS, LENGTH, WIDTH)
    for column in range(LENGTH):
        expected = lookup(attention.attend, x[0, :, column], torch.zeros(ROWS, ROWS, HEADS))
        close(attention(x)[0, :, column], expected, 1e-5)


def test_outer_product_mean():
    part, x = OuterProductMean(WIDTH, 6, hidden=3), torch.randn(BATCH, ROWS, LENGTH, WIDTH)
    left, right, out = part.left(x), part.right(x), part(x)
    for i in range(LENGTH):
        for j in range(LENGTH):
            products = [torch.outer(left[1, row, i], right[1, row, j]) for row in range(ROWS)]
            close(out[1, i, j], part.out(torch.stack(products).mean(0).flatten()), 1e-5)


@pytest.mark.parametrize("edges", ["outgoing", "incoming"])
def test_triangle_multiplication(edges):
    part, pair = TriangleMultiplication(WIDTH, 3, LayerNorm(), edges), torch.randn(BATCH, LENGTH, LENGTH, WIDTH)
    left, right, left_gate, right_gate = part.sides(pair).split(3, -1)
    left, right = left * left_gate.sigmoid(), right * right_gate.sigmoid()
    out = part(pair)
    for i in range(LENGTH):
        for j in range(LENGTH):
            if edges == "outgoing":
                third = sum(left[0, i, k] * right[0, j, k] for k in range(LENGTH))
            else:
                third = sum(left[0, k, i] * right[0, k, j] for k in range(LENGTH))
            close(out[0, i, j], part.gate(pair[0, i, j]).sigmoid() * part.out(part.norm(third)), 1e-5)


@pytest.mark.parametrize("node", ["starting", "ending"])
def test_triangle_attention(node):
    """Edges from i (or to j) attend to each other; the third side adds to the score."""
    part, pair = TriangleAttention(MultiHead(WIDTH, HEADS), WIDTH, node), torch.randn(1, LENGTH, LENGTH, WIDTH)
    out, third = part(pair)[0], part.axial.bias(pair[0])
    for shared in range(LENGTH):
        if node == "starting":
            close(out[shared], lookup(part.axial.attend, pair[0, shared], third), 1e-5)
        else:
            close(out[:, shared], lookup(part.axial.attend, pair[0, :, shared], third.transpose(0, 1)), 1e-5)


def test_a_window_sees_so_many_pairs_and_no_more():
    part, pair = PairWindow(WIDTH, 3), torch.zeros(1, 7, 7, WIDTH)
    other = pair.clone()
    other[0, 3, 3] = 1
    changed = (part(pair) != part(other)).any(-1)[0].nonzero()
    assert changed.min() == 2
    assert changed.max() == 4


@pytest.mark.parametrize("changes", [{}, {"triangles": "both"}, {"along": "rows"}, {"bias": "none"}], ids=str)
@torch.no_grad()
def test_the_other_sequences_have_no_order(changes):
    config = replace(BASES[Evoformer], **changes)
    model, given = config.build().eval(), alignment_inputs(config, LENGTH)
    order = torch.tensor([0, 3, 1, 4, 2])  # the first is the one whose residues are asked about
    contact, letter = model(**given)
    again, turned = model(**given | {"letters": given["letters"][:, order]})
    close(again, contact, 1e-5)
    close(turned, letter[:, order], 1e-5)
    close(contact, contact.transpose(1, 2), 1e-6)
    other, _ = model(**given | {"letters": given["letters"][:, [1, 0, 2, 3, 4]]})
    assert not torch.allclose(other, contact, atol=1e-4), "the first one is asked about, and is not like the others"


@torch.no_grad()
def test_padding_is_invisible():
    config = Evoformer(features=3, width=8, pair_width=8, layers=2, heads=2, outer=3, window=3, triangles="both")
    model, given = config.build().eval(), alignment_inputs(config, 9)
    valid = (torch.arange(9) < 6).expand(3, -1)
    contact, letter = model(**given, valid=valid)
    short = {"letters": given["letters"][..., :6], "profile": given["profile"][:, :6]}
    alone, own = model(**short, features=given["features"][:, :6, :6])
    close(contact[:, :6, :6], alone, 1e-5)
    close(letter[:, :, :6], own, 1e-5)


@torch.no_grad()
def test_patterns_of_rows_and_columns_are_heard():
    config = BASES[Evoformer]
    model = config.build().eval()
    with listen(model) as heard:
        model(**alignment_inputs(config, LENGTH))
    assert heard["blocks.1.rows.attend.pattern"].shape == (3 * 5, 2, LENGTH, LENGTH)
    assert heard["blocks.0.columns.attend.pattern"].shape == (3 * LENGTH, 2, 5, 5)
