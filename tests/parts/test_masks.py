"""Masks as boolean algebra: every rule against loops, every joint against `and` and `or` of written-out matrices."""

import operator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.parts import Causal, Mask, MaskTensor, Nearby, Padding, Prefix, SameDocument
from regard.parts.masks import From, join

BATCH, LENGTH = 2, 6


def written(mask: Mask, queries: list[int] | None = None) -> Tensor:
    """A mask as a boolean matrix for each text of the batch."""
    query = torch.tensor(range(LENGTH) if queries is None else queries)[:, None]
    return mask.at(query, torch.arange(LENGTH)[None, :]).expand(BATCH, -1, -1)


def by_loops(allowed) -> Tensor:
    return torch.tensor([[[allowed(row, q, k) for k in range(LENGTH)] for q in range(LENGTH)] for row in range(BATCH)])


VALID = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 0]]).bool()
SEGMENT = torch.tensor([[0, 0, 0, 1, 1, 2], [3, 3, 1, 1, 1, 1]])
PREFIX = torch.tensor([2, 5])
START = torch.tensor([0, 3])
WRITTEN = torch.randint(2, (BATCH, LENGTH, LENGTH), generator=torch.Generator().manual_seed(0)).bool()

RULES = {
    "causal": (Causal(), lambda row, q, k: k <= q),
    "nearby": (Nearby(2), lambda row, q, k: q - 1 <= k <= q + 1),
    "padding": (Padding(VALID), lambda row, q, k: bool(VALID[row, k])),
    "prefix": (Prefix(PREFIX), lambda row, q, k: k < PREFIX[row]),
    "from": (From(START), lambda row, q, k: k >= START[row]),
    "packed": (SameDocument(SEGMENT), lambda row, q, k: SEGMENT[row, q] == SEGMENT[row, k]),
    "given": (MaskTensor(WRITTEN), lambda row, q, k: bool(WRITTEN[row, q, k])),
}


def test_every_mask_has_its_rule_tested():
    joints = {"Both", "Either"}
    kinds = {kind.__name__ for kind in Mask.__subclasses__() if kind.__module__ == "regard.parts.masks"}
    assert {type(mask).__name__ for mask, _ in RULES.values()} == kinds - joints


@pytest.mark.parametrize("name", RULES)
def test_a_mask_is_its_rule(name):
    mask, rule = RULES[name]
    assert torch.equal(written(mask), by_loops(rule))


@pytest.mark.parametrize("name", RULES)
def test_a_mask_is_asked_anywhere_and_in_any_shape(name):
    """Sparse attentions ask in blocks: three index dimensions, in no order."""
    mask, _ = RULES[name]
    query = torch.tensor([[5, 0], [2, 3]])[:, :, None]
    key = torch.tensor([[1, 4, 0], [5, 2, 2]])[:, None, :]
    answer = mask.at(query, key).expand(BATCH, 2, 2, 3)
    whole = written(mask)
    for block in range(2):
        for i in range(2):
            for j in range(3):
                q, k = int(query[block, i, 0]), int(key[block, 0, j])
                assert torch.equal(answer[:, block, i, j], whole[:, q, k])


@pytest.mark.parametrize("name", RULES)
def test_a_mask_keeps_its_promises(name):
    check_promises(RULES[name][0])


def check_promises(mask: Mask) -> None:
    """What an attention relies on without asking again."""
    whole = written(mask)
    if mask.hides_future:
        assert not whole.triu(1).any()
    if mask.same_for_all:
        assert torch.equal(whole, whole[:, :1].expand_as(whole))


leaves = st.sampled_from(sorted(RULES))
formulas = st.recursive(leaves, lambda part: st.tuples(st.sampled_from([operator.and_, operator.or_]), part, part))


def evaluate(formula, leaf):
    if isinstance(formula, str):
        return leaf(formula)
    how, one, other = formula
    return how(evaluate(one, leaf), evaluate(other, leaf))


@given(formulas)
def test_joined_masks_are_boolean_algebra(formula):
    mask = evaluate(formula, lambda name: RULES[name][0])
    assert torch.equal(written(mask), evaluate(formula, lambda name: by_loops(RULES[name][1])))
    check_promises(mask)


def test_joining_with_nothing_is_the_mask_itself():
    causal, padding = Causal(), Padding(VALID)
    assert join(None, None) is None
    assert join(causal, None) is causal
    assert join(None, causal) is causal
    assert torch.equal(written(join(causal, padding)), written(causal & padding))
