"""A large table: the pre-trained network, learned keys and boosted trees, weighted by their loss on held-out rows.

The network reads a part of the table at a time and knows nothing of it in advance; keys and trees are trained on all of
it. What one of them misses another often has, so their average is better than each. Mode `attention` leaves the trees
out.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.models.in_context import InContextModel
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Ensemble
from regard.tables.folds import MIN_HELD_OUT, hold_out
from regard.tables.network.boosted_trees import BoostedTreesPredictor, grow_trees
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.learned_keys import LearnedKeysPredictor, train_learned_keys
from regard.tables.predictor import Predictor
from regard.tables.progress import report
from regard.tables.weighting import best_weights
from regard.train import DivergedError

HELD_OUT = 0.125  # fraction of the rows
MAX_HELD_OUT = 2000  # rows: more would take time and tell the same
TRIAL_MEMBERS = 1  # for held-out rows: more would take the time of the keys
PREDICTION_TIME = 0.35  # of the time limit: so long may the network read the table when it predicts
TREES_TIME = 0.15  # fraction of the time limit
RESERVE = 0.05  # fraction of the time limit, for what takes longer than expected


@dataclass(frozen=True)
class Candidate:
    """A predictor of the whole table, and what one without the held-out rows predicts for them."""

    predictor: Predictor
    held_out: Float[Tensor, "row prediction"]


def auto_large(
    model: InContextModel, table: EncodedTable, members: int, seed: int, seconds: float, trees: bool
) -> Ensemble | None:
    """The predictors that held-out rows give a weight to; None if too few rows differ to hold some out."""
    began = time.monotonic()
    rest, held_out = hold_out(table, min(MAX_HELD_OUT, int(HELD_OUT * len(table.values))), seed)
    if len(held_out.target) < 2 * MIN_HELD_OUT:
        return None
    # Rows that stop the training of a predictor would flatter it in the comparison with others, so other rows decide.
    copies = held_out.copies()
    turn = torch.arange(len(held_out.target)) if copies is None else copies.group
    stops, decides = (held_out.take((turn % 2 == half).nonzero()[:, 0]) for half in range(2))
    report("in context")
    candidates = [_in_context(model, table, rest, decides, members, seed, seconds)]
    if trees:
        report("boosted trees")
        grown = grow_trees(rest, stops, TREES_TIME * seconds, seed)
        by_trees = BoostedTreesPredictor(*grown, rest).predict(decides.values)
        candidates.append(Candidate(BoostedTreesPredictor(*grown, table), by_trees))
    left = (1 - RESERVE) * seconds - (time.monotonic() - began)
    report("learned keys")
    try:
        keys = train_learned_keys(rest, stops, max(left, 0.2 * seconds), seed)
        by_keys = LearnedKeysPredictor(keys, rest, seed).predict(decides.values)
        candidates.append(Candidate(LearnedKeysPredictor(keys, table, seed), by_keys))
    except DivergedError:  # the others remain
        pass
    report("weighting and calibrating")
    return _ensemble(candidates, decides)


def _in_context(
    model: InContextModel,
    table: EncodedTable,
    rest: EncodedTable,
    decides: EncodedTable,
    members: int,
    seed: int,
    seconds: float,
) -> Candidate:
    """As many members as there is time for when predicting."""
    began = time.monotonic()
    predicted = InContextPredictor(model, rest, Members(TRIAL_MEMBERS), seed).predict(decides.values)
    one = (time.monotonic() - began) / TRIAL_MEMBERS
    possible = max(1, min(members, int(PREDICTION_TIME * seconds / one)))
    predictor = InContextPredictor(model, table, Members(possible, local=True), seed)
    return Candidate(predictor, predicted)


def _ensemble(candidates: Sequence[Candidate], decides: EncodedTable) -> Ensemble:
    weights = best_weights([each.held_out for each in candidates], decides)
    used = [(each, weight) for each, weight in zip(candidates, weights, strict=True) if weight > 0]
    blended = torch.stack([weight * each.held_out.double() for each, weight in used]).sum(0)
    ensemble = Ensemble([each.predictor for each, _ in used], [weight for _, weight in used])
    return ensemble.calibrated(blended, decides)
