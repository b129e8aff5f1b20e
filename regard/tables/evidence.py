"""Evidence: the known rows that a prediction rested on, and the cells of the asked row that mattered.

Rows have the weight of their labels in the vote, and in what the rows that resemble the asked one say, in the shares
that the network trusts the two. A network of the table's own has no vote; there it is how much each row was looked at.
Cells are hidden one after the other, and what that changes in the answer is how much they mattered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from regard.parts.taps import listen
from regard.tables.modes import Answers, Blend
from regard.tables.own_network import OwnNetwork
from regard.tables.reader import Reader

AT_ONCE = 64  # rows asked together: each has a weight for every known row
HIDDEN_AT_ONCE = 2048  # rows asked together, each with another of its cells hidden


@dataclass(frozen=True)
class Evidence:
    """What one prediction rested on."""

    prediction: Any
    rows: pd.DataFrame  # known rows by their number, the heaviest first: `weight`, `target`, and their cells
    columns: pd.Series  # how much the answer moved when the cell was hidden, as shares, the most first
    seen: int  # known rows that have any weight
    voted: bool  # whether weights are those of labels in the answer, and not of what was looked at on the way


def row_weights(learned: Answers, values: Float[Tensor, "row column"]) -> Float[Tensor, "row known"]:
    """The weight of each known row in the answer for each asked row; they sum to one."""
    if isinstance(learned, OwnNetwork):
        return learned.looks(values)
    assert isinstance(learned, Blend), f"{type(learned).__name__} keeps no evidence"
    parts = zip(learned.readers, learned.shares, strict=True)
    return torch.stack([share * _weights_of(reader, values) for reader, share in parts]).sum(0)


@torch.inference_mode()
def _weights_of(reader: Reader, values: Tensor) -> Tensor:
    total = torch.zeros(len(values), len(reader.table.values))
    for number, view in enumerate(reader.views):
        for asked, part in reader.passes(number, values):
            seen = view.see(values[asked])
            with listen(reader.model.label_attention) as votes, listen(reader.model.gate) as trust:
                reader.model.predict(part.known, seen)
            share = trust["weights"][0, :, 1:]
            total[asked[:, None], part.rows] += (1 - share) * votes["pattern"][0].mean(0)
            total[asked[:, None], part.counted] += share * part.known.closed_forms.label_weights(seen)[0]
    return total / len(reader.views)


def cell_weights(
    learned: Answers, values: Float[Tensor, "row cell"], columns: list[list[int]], classes: int
) -> Float[Tensor, "row column"]:
    """How far the answer moves when a column's cells are hidden, as shares of all that it moves."""
    moved = []
    for rows in values.split(max(1, HIDDEN_AT_ONCE // len(columns))):
        whole = learned.answer(rows)
        some = (columns[first : first + HIDDEN_AT_ONCE] for first in range(0, len(columns), HIDDEN_AT_ONCE))
        change = torch.cat([(_without(learned, rows, places) - whole).abs() for places in some])
        # Of classes the probability that goes elsewhere; of a number how far its mean goes.
        far = (change.sum(2) / 2 if classes else change[:, :, 0]).T
        empty = torch.stack([rows[:, places].isnan().all(1) for places in columns], 1)
        moved.append(far.masked_fill(empty, 0.0))  # there was nothing to hide; in other company sums differ in a digit
    far = torch.cat(moved)
    return far / far.sum(1, keepdim=True).clamp(min=1e-12)


def _without(
    learned: Answers, rows: Float[Tensor, "row cell"], columns: Sequence[list[int]]
) -> Float[Tensor, "column row answer"]:
    """What is answered when each of the columns is hidden."""
    hidden = rows.repeat(len(columns), 1, 1)  # column, row, cell
    for number, places in enumerate(columns):
        hidden[number, :, places] = torch.nan
    return learned.answer(hidden.flatten(0, 1)).unflatten(0, hidden.shape[:2])
