"""Guesses: what can be said of a table's rows in closed form, before a network has learned anything.

One comes from the best straight line, one from the rows that resemble a row. Known rows are told what the others say.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.parts.centres import ResemblanceByCentres
from regard.parts.column_facts import ColumnFacts, Labels, Values
from regard.parts.resemblance import Resemblance, entries_of
from regard.parts.straight import Design, StraightLine, design_of

MEANS = 3  # classes whose share is told of each category
MOST_COMPARED = 3000  # rows that are all compared with each other; more speak through centres

Facts = Float[Tensor, "table row column fact"]
TwoGuesses = Float[Tensor, "table row way label"]  # by the line, and by resemblance


@dataclass(frozen=True)
class Guesses:
    columns: ColumnFacts
    line: StraightLine
    like: Resemblance
    classes: int  # 0: the labels are numbers
    order: Int[Tensor, " label"] | None = None  # in which classes are told; None: as they were fitted

    @classmethod
    def fit(cls, columns: ColumnFacts, values: Values, facts: Facts, labels: Labels, classes: int) -> "Guesses":
        """Of the known rows, with what `columns` says of their cells."""
        design, entries = _known_by(columns, values, facts, classes, known=True)
        told = labels[..., : classes or 1]
        like = Resemblance if entries.shape[1] <= MOST_COMPARED else ResemblanceByCentres
        return cls(columns, StraightLine.fit(design, told), like.fit(entries, told), classes)

    def among(self, rows: Int[Tensor, " row"]) -> "Guesses":
        """The same where only these of the known rows are read."""
        line = replace(self.line, own=self.line.own[:, rows])
        return replace(self, line=line, like=replace(self.like, own=self.like.own[:, rows]))

    def reordered(self, order: Int[Tensor, " label"]) -> "Guesses":
        """The same where class `order[0]` is called the first."""
        return replace(self, order=order)

    @property
    def columns_as_told(self) -> ColumnFacts:
        return self.columns if self.order is None else self.columns.reordered(self.order)

    @property
    def own(self) -> TwoGuesses:
        """Of the known rows, each by the others."""
        return self._told(torch.stack([self.line.own, self.like.own], 2))

    def of(self, values: Values, facts: Facts) -> TwoGuesses:
        """Of other rows."""
        design, entries = _known_by(self.columns, values, facts, self.classes)
        return self._told(torch.stack([self.line.guess(design), self.like.guess(entries)], 2))

    def _told(self, guess: TwoGuesses) -> TwoGuesses:
        return guess if self.order is None else guess[..., self.order]

    def shares(self, values: Values) -> Float[Tensor, "table row known"]:
        """How much the label of each known row counts in what those that resemble a row say of it, as shares."""
        facts = self.columns.standing(values)
        return self.like.shares(_known_by(self.columns, values, facts, self.classes)[1])


def _known_by(
    columns: ColumnFacts, values: Values, facts: Facts, classes: int, known: bool = False
) -> tuple[Design, Float[Tensor, "table row other"]]:
    """What rows are known by to the line, and to resemblance."""
    few = min(classes - 1, MEANS) if classes > 1 else 1
    means = columns.mean_labels(values, values.shape[1] if known else 0, few)
    return design_of(facts, means, columns.counts), entries_of(values, facts, means, columns)
