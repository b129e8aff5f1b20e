"""Masks: who may look at whom. A mask is a rule over positions, joined to others with `&` and `|`.

    Causal() & Padding(valid)            a language model on a padded batch
    Causal() | Prefix(lengths)           a prefix read both ways, then written left to right
    Causal() & SameDocument(segment)           several texts in one row, none looking into another

A rule is asked only where an attention looks, so a sparse attention never builds the square of the length.
True means: may look.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Index = Int[Tensor, "..."]
Allowed = Bool[Tensor, "#batch ..."]  # a batch of 1 where the rule is the same for all rows


class Mask:
    """A rule `at(query, key)`; the index tensors broadcast against each other, and the answer leads with the batch."""

    hides_future = False  # True: never lets a query look at a later key, so an attention may skip those
    same_for_all = False  # True: hides the same keys from every query

    def at(self, query: Index, key: Index) -> Allowed:
        raise NotImplementedError("abstract: a mask says where a query may look")

    def __and__(self, other: "Mask") -> "Mask":
        return Both(self, other)

    def __or__(self, other: "Mask") -> "Mask":
        return Either(self, other)


class Both(Mask):
    def __init__(self, one: Mask, other: Mask):
        self.one, self.other = one, other
        self.hides_future = one.hides_future or other.hides_future
        self.same_for_all = one.same_for_all and other.same_for_all

    def at(self, query: Index, key: Index) -> Allowed:
        return self.one.at(query, key) & self.other.at(query, key)


class Either(Mask):
    def __init__(self, one: Mask, other: Mask):
        self.one, self.other = one, other
        self.hides_future = one.hides_future and other.hides_future
        self.same_for_all = one.same_for_all and other.same_for_all

    def at(self, query: Index, key: Index) -> Allowed:
        return self.one.at(query, key) | self.other.at(query, key)


class Causal(Mask):
    """Look at yourself and what came before."""

    hides_future = True

    def at(self, query: Index, key: Index) -> Allowed:
        return (key <= query)[None]


class Nearby(Mask):
    """Look at most `reach - 1` places to either side."""

    def __init__(self, reach: int):
        self.reach = reach

    def at(self, query: Index, key: Index) -> Allowed:
        return ((query - key).abs() < self.reach)[None]


class Padding(Mask):
    """Look at real keys only."""

    same_for_all = True

    def __init__(self, valid: Bool[Tensor, "batch key"]):
        self.valid = valid

    def at(self, query: Index, key: Index) -> Allowed:
        return _spread(self.valid, key, query)


class Prefix(Mask):
    """Look at the first keys of the row, from anywhere: the part that is given, not written."""

    same_for_all = True

    def __init__(self, length: Int[Tensor, " batch"]):
        self.length = length

    def at(self, query: Index, key: Index) -> Allowed:
        places = torch.broadcast_tensors(key, query)[0]
        allowed: Tensor = places < self.length.view(-1, *[1] * places.dim())
        return allowed


class From(Mask):
    """Look at keys from the row's own start on: texts of different lengths that end together."""

    same_for_all = True

    def __init__(self, start: Int[Tensor, " batch"]):
        self.start = start

    def at(self, query: Index, key: Index) -> Allowed:
        places = torch.broadcast_tensors(key, query)[0]
        allowed: Tensor = places >= self.start.view(-1, *[1] * places.dim())
        return allowed


class SameDocument(Mask):
    """Look inside your own text only, where several are packed into one row."""

    def __init__(self, segment: Int[Tensor, "batch length"]):
        self.segment = segment

    def at(self, query: Index, key: Index) -> Allowed:
        return _spread(self.segment, query, key) == _spread(self.segment, key, query)


class MaskTensor(Mask):
    """A mask that somebody has already written out."""

    def __init__(self, allowed: Bool[Tensor, "batch query key"]):
        self.allowed = allowed

    def at(self, query: Index, key: Index) -> Allowed:
        return self.allowed[:, *torch.broadcast_tensors(query, key)]


def join(one: Mask | None, other: Mask | None) -> Mask | None:
    """Both masks, where either may be absent."""
    return one & other if one is not None and other is not None else one if one is not None else other


def _spread(row: Tensor, chosen: Index, other: Index) -> Tensor:
    """`row[:, chosen]`, with the shape that `chosen` and `other` have together."""
    shape = torch.broadcast_shapes(chosen.shape, other.shape)
    return row[:, chosen].expand(-1, *shape)
