"""The modes `in_context` and `auto`: predict with the pre-trained network, or with trained ones beside it."""

import torch

from regard.models.in_context import InContextModel
from regard.tables.calibrate import fit_temperature
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import ALL_MEMBERS_ROWS, Ensemble
from regard.tables.folds import split_folds
from regard.tables.large import auto_large
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.small import MAX_FOLDS, MAX_HELD_OUT, MIN_HELD_OUT, auto_small

LARGE = 3000  # rows: with more, folds and fine-tuning take longer than they are worth


def in_context(model: InContextModel, table: EncodedTable, members: int, seed: int) -> Ensemble:
    """The pre-trained network with the table as context; nothing is trained."""
    predictor = InContextPredictor(model, table, Members(members, local=True), seed)
    return Ensemble([predictor], [1.0], _temperature(model, table, seed) if table.classes > 2 else 1.0)


def _temperature(model: InContextModel, table: EncodedTable, seed: int) -> float:
    """The temperature by one member's predictions of held-out rows; of a large table, of some of its rows."""
    count = len(table.values)
    some = torch.linspace(0, count - 1, min(count, ALL_MEMBERS_ROWS)).round().long()
    rest, held_out = split_folds(table.take(some), MAX_FOLDS, seed, MAX_HELD_OUT)[0]
    if len(held_out.target) < MIN_HELD_OUT:
        return 1.0
    predictor = InContextPredictor(model, rest, Members(1), seed)
    return fit_temperature(predictor.predict(held_out.values), held_out.target)


def auto(
    model: InContextModel, table: EncodedTable, members: int, seed: int, seconds: float, trees: bool = True
) -> Ensemble:
    """The network and others trained on the table beside it, weighted by their loss on held-out rows.

    A large table may have boosted `trees` among them. If there is no time to train anything, the mode is `in_context`.
    """
    if len(table.values) > LARGE and table.classes != 1:
        return auto_large(model, table, members, seed, seconds, trees)
    trained = auto_small(model, table, members, seed, seconds)
    return trained or in_context(model, table, members, seed)
