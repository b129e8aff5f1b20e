"""The modes `in_context` and `auto`: predict with the pre-trained network, or with trained ones beside it."""

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.models.in_context import InContextModel
from regard.tables.calibrate import Calibration
from regard.tables.encode.table import EncodedTable, join
from regard.tables.ensemble import SHORT_CONTEXT, Ensemble
from regard.tables.folds import MIN_HELD_OUT, split_folds
from regard.tables.large import auto_large
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.progress import report
from regard.tables.small import MAX_FOLDS, MAX_HELD_OUT, TRIAL_MEMBERS, auto_small

ENOUGH = 200  # held-out rows to calibrate quantiles with; for a temperature those of one fold are
LARGE = 3000  # rows: with more, folds and fine-tuning take longer than they are worth


def in_context(model: InContextModel, table: EncodedTable, members: int, seed: int) -> Ensemble:
    """The pre-trained network with the table as context; nothing is trained."""
    predictor = InContextPredictor(model, table, Members(members, local=True), seed)
    return Ensemble([predictor], [1.0], _calibration(model, table, seed))


def _calibration(model: InContextModel, table: EncodedTable, seed: int) -> Calibration:
    if table.classes in (1, 2):
        return Calibration()
    report("calibrating on held-out rows")
    parts = list(_held_out(model, table, seed))
    if not parts:
        return Calibration.of_target(table)
    predicted, rows = zip(*parts, strict=True)
    return Calibration.fit(torch.cat(predicted), join(rows), table)


def _held_out(model: InContextModel, table: EncodedTable, seed: int) -> Iterator[tuple[Tensor, EncodedTable]]:
    """Two members' predictions of held-out rows; of a large table, of some of its rows.

    A single member is more confident than an average of members, and its temperature and levels would not suit that
    one; of two, each has another order of classes or another scale of the target, and more hardly differ from them.
    """
    count = len(table.values)
    some = torch.linspace(0, count - 1, min(count, SHORT_CONTEXT)).round().long()
    left = 1 if table.classes else ENOUGH
    for rest, held_out in split_folds(table.take(some), MAX_FOLDS, seed, MAX_HELD_OUT):
        if left > 0 and len(held_out.target) >= MIN_HELD_OUT and len(rest.target):  # not all rows are equal
            yield InContextPredictor(model, rest, Members(TRIAL_MEMBERS), seed).predict(held_out.values), held_out
            left -= len(held_out.target)


def auto(
    model: InContextModel, table: EncodedTable, members: int, seed: int, seconds: float, trees: bool = True
) -> Ensemble:
    """The network and others trained on the table beside it, weighted by their loss on held-out rows.

    A large table may have boosted `trees` among them. If there is no time to train anything, or too few different
    rows to hold some out, the mode is `in_context`.
    """
    if len(table.values) > LARGE and table.classes != 1:
        trained = auto_large(model, table, members, seed, seconds, trees)
    else:
        trained = auto_small(model, table, members, seed, seconds)
    return trained or in_context(model, table, members, seed)
