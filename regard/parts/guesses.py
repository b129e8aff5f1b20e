"""Guesses: what can be said of a table's rows in closed form, before a network has learned anything.

One comes from the best straight line, one from the rows that resemble a row. Known rows are told what the others say.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.parts.column_facts import ColumnFacts, Labels, Values
from regard.parts.resemblance import Resemblance, entries_of
from regard.parts.straight import Design, StraightLine, design_of

MEANS = 3  # classes whose share is told of each category

Facts = Float[Tensor, "table row column fact"]
TwoGuesses = Float[Tensor, "table row way label"]  # by the line, and by resemblance


@dataclass(frozen=True)
class Guesses:
    columns: ColumnFacts
    line: StraightLine
    like: Resemblance
    classes: int  # 0: the labels are numbers

    @classmethod
    def fit(cls, columns: ColumnFacts, values: Values, facts: Facts, labels: Labels, classes: int) -> "Guesses":
        """Of the known rows, with what `columns` says of their cells."""
        design, entries = _known_by(columns, values, facts, classes, known=True)
        told = labels[..., : classes or 1]
        return cls(columns, StraightLine.fit(design, told), Resemblance.fit(entries, told), classes)

    @property
    def own(self) -> TwoGuesses:
        """Of the known rows, each by the others."""
        return torch.stack([self.line.own, self.like.own], 2)

    def of(self, values: Values, facts: Facts) -> TwoGuesses:
        """Of other rows."""
        design, entries = _known_by(self.columns, values, facts, self.classes)
        return torch.stack([self.line.guess(design), self.like.guess(entries)], 2)

    def shares(self, values: Values) -> Float[Tensor, "table row known"]:
        """How much the label of each known row counts in what those that resemble a row say of it, as shares."""
        facts, _ = self.columns.describe(values)
        return self.like.shares(_known_by(self.columns, values, facts, self.classes)[1])


def _known_by(
    columns: ColumnFacts, values: Values, facts: Facts, classes: int, known: bool = False
) -> tuple[Design, Float[Tensor, "table row other"]]:
    """What rows are known by to the line, and to resemblance."""
    few = min(classes - 1, MEANS) if classes > 1 else 1
    means = columns.mean_labels(values, values.shape[1] if known else 0, few)
    return design_of(facts, means, columns.counts), entries_of(values, facts, means, columns)
