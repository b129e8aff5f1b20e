"""Mode `auto` of a large table: the pre-trained network beside learned keys, weighted by their loss on held-out rows.

The network reads a part of the table at a time and knows nothing of it in advance; the keys are trained on all of it.
What one of them misses the other often has, so their average is better than either.
"""

import time
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.models.in_context import InContextModel
from regard.tables.calibrate import fit_temperature
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Ensemble
from regard.tables.folds import hold_out
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.learned_keys import LearnedKeysPredictor, train_learned_keys
from regard.tables.predictor import Predictor
from regard.train import DivergedError

HELD_OUT = 0.125  # fraction of the rows
MAX_HELD_OUT = 2000  # rows: more would take time and tell the same
TRIAL_MEMBERS = 2  # for held-out rows
PREDICTION_TIME = 0.35  # fraction of the time limit that the passes of the network over the table may take
RESERVE = 0.05  # fraction of the time limit, for what takes longer than expected
STEPS = 20  # of the search for weights
LEAST = 0.1  # weight: with less, a predictor costs more time than it gains
TOLERANCE = 1.003  # of the least loss: within it the more even weights are safer


def auto_large(model: InContextModel, table: EncodedTable, members: int, seed: int, seconds: float) -> Ensemble:
    """The pre-trained network and learned keys; only one of them if it does not gain from the other."""
    began = time.monotonic()
    rest, held_out = hold_out(table, min(MAX_HELD_OUT, int(HELD_OUT * len(table.values))), seed)
    # Rows that choose the keys' weights would flatter them in the comparison with the network, so others decide it.
    chooses, decides = (held_out.take(torch.arange(half, len(held_out.target), 2)) for half in range(2))
    by_network, one_pass = _timed(InContextPredictor(model, rest, Members(TRIAL_MEMBERS), seed), decides)
    possible = max(1, min(members, int(PREDICTION_TIME * seconds * TRIAL_MEMBERS / one_pass)))
    left = (1 - RESERVE) * seconds - (time.monotonic() - began) - possible * one_pass / TRIAL_MEMBERS
    try:
        keys = train_learned_keys(rest, chooses, max(left, 0.2 * seconds), seed)
    except DivergedError:
        return Ensemble([InContextPredictor(model, table, Members(possible, local=True), seed)], [1.0])
    by_keys, _ = _timed(LearnedKeysPredictor(keys, rest, seed), decides)
    weights = best_weights([by_network, by_keys], decides)
    blended = torch.lerp(by_network, by_keys.to(by_network.dtype), weights[1])
    temperature = fit_temperature(blended, decides.target) if table.classes else 1.0
    parts: list[tuple[Predictor, float]] = [
        (InContextPredictor(model, table, Members(possible, local=True), seed), weights[0]),
        (LearnedKeysPredictor(keys, table, seed), weights[1]),
    ]
    used = [(predictor, weight) for predictor, weight in parts if weight > 0]
    return Ensemble([predictor for predictor, _ in used], [weight for _, weight in used], temperature)


def _timed(predictor: Predictor, rows: EncodedTable) -> tuple[Tensor, float]:
    began = time.monotonic()
    return predictor.predict(rows.values), time.monotonic() - began


def best_weights(predictions: Sequence[Float[Tensor, "row prediction"]], rows: EncodedTable) -> list[float]:
    """The weights of two predictions, which sum to one: those with the least loss on these rows, or nearly so."""
    first, second = (each.double() for each in predictions)

    def loss(weight: float) -> float:
        prediction = torch.lerp(first, second, weight)
        if rows.classes:
            return -prediction.gather(1, rows.target.long()[:, None]).clamp(min=1e-6).log().mean().item()
        return (prediction[:, 0] - rows.target).square().mean().item()

    losses = {step / STEPS: loss(step / STEPS) for step in range(STEPS + 1)}
    good = [weight for weight in losses if losses[weight] <= TOLERANCE * min(losses.values())]
    weight = min(good, key=lambda one: abs(one - 0.5))
    weight = round(weight) if min(weight, 1 - weight) < LEAST else weight
    return [1 - weight, weight]
