"""The modes `in_context` and `auto`: predict with the pre-trained network, or with trained ones beside it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.machine import seed_for
from regard.models.in_context import InContextModel
from regard.tables.calibrate import fit_temperature
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import ALL_MEMBERS_ROWS, Ensemble
from regard.tables.finetune import finetune
from regard.tables.folds import split_folds
from regard.tables.large import auto_large
from regard.tables.network.in_context import ClosedFormCache, InContextPredictor, Members
from regard.train import DivergedError

MIN_HELD_OUT = 12  # rows: fewer are too noisy, and the remaining rows are worth more as context
FOLDS = 3  # fine-tuned networks, each with other rows held out
MAX_FOLDS = 5  # if there is time for more
LARGE = 2000  # rows: more are worth learned keys
TRIAL_MEMBERS = 2  # for held-out rows: both networks have the same ones, so few suffice
MAX_HELD_OUT = 1000  # rows: more would take time and tell the same
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the fine-tuned networks in the ensemble


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


def auto(model: InContextModel, table: EncodedTable, members: int, seed: int, seconds: float) -> Ensemble:
    """The network and fine-tuned copies of it, weighted by their loss on held-out rows; of a large table, learned keys.

    As many folds are fine-tuned as there is time for; if there is none for even one, the mode is `in_context`.
    """
    if len(table.values) > LARGE and table.classes != 1:
        return auto_large(model, table, members, seed, seconds)
    began = time.monotonic()
    folds = split_folds(table, MAX_FOLDS, seed, MAX_HELD_OUT)
    if table.classes == 1 or min(len(held_out.target) for _, held_out in folds) < MIN_HELD_OUT:
        return in_context(model, table, members, seed)
    one_pass = _seconds_per_pass(model, *folds[0], seed)
    trials = _trials(model, folds, Budget(began, seconds, one_pass), seed)
    if not trials:
        return in_context(model, table, members, seed)
    return _ensemble(model, table, trials, members, seed)


def _ensemble(
    model: InContextModel, table: EncodedTable, trials: Sequence["Trial"], members: int, seed: int
) -> Ensemble:
    """The pre-trained network and those of the trials, with the weights and the temperature of the held-out rows."""
    weight = _best_weight(trials, table.classes)
    before, after, truth = _concatenate(trials)
    temperature = fit_temperature(torch.lerp(before, after, weight), truth) if table.classes > 2 else 1.0
    parts = [(model, 1 - weight), *((trial.finetuned, weight / len(trials)) for trial in trials)]
    used = [(network, part) for network, part in parts if part > 0]
    count = min(members, max(1, 2 * members // len(used)))
    # Each network has members of its own, so that more orders of columns and classes are averaged.
    cache = ClosedFormCache()
    predictors = [
        InContextPredictor(network, table, Members(count, number * count), seed, cache)
        for number, (network, _) in enumerate(used)
    ]
    return Ensemble(predictors, [part for _, part in used], temperature)


def _seconds_per_pass(model: InContextModel, rest: EncodedTable, held_out: EncodedTable, seed: int) -> float:
    began = time.monotonic()
    InContextPredictor(model, rest, Members(1), seed).predict(held_out.values)
    return time.monotonic() - began


@dataclass(frozen=True)
class Trial:
    """A fine-tuned network, with predictions for rows held out of it, before and after fine-tuning."""

    finetuned: InContextModel
    before: Float[Tensor, "row prediction"]
    after: Float[Tensor, "row prediction"]
    truth: Float[Tensor, " row"]


@dataclass(frozen=True)
class Budget:
    began: float
    seconds: float
    one_pass: float  # seconds that one member takes


def _trials(
    model: InContextModel, folds: list[tuple[EncodedTable, EncodedTable]], budget: Budget, seed: int
) -> list[Trial]:
    """One trial for each fold that there is time for, all of about the same length."""
    passes = 2 * TRIAL_MEMBERS * budget.one_pass  # of a fold: before and after fine-tuning
    planned = min(FOLDS, int(budget.seconds / (2 * passes)))
    trials: list[Trial] = []
    longest = 0.0
    # If there was time for all that were planned, small tables leave some for more.
    for number, (rest, held_out) in enumerate(folds if planned == FOLDS else folds[:planned]):
        start = time.monotonic()
        left = 0.9 * budget.seconds - (start - budget.began)
        seconds = left / max(1, planned - number) - passes
        if seconds <= 0 or (number >= planned and left < longest):
            break
        cache, members = ClosedFormCache(), Members(TRIAL_MEMBERS)
        before = InContextPredictor(model, rest, members, seed, cache).predict(held_out.values)
        try:
            finetuned = finetune(model, rest, held_out, seconds, seed_for("tune", seed, number))
        except DivergedError:  # the other folds and the pre-trained network remain
            continue
        after = InContextPredictor(finetuned, rest, members, seed, cache).predict(held_out.values)
        trials.append(Trial(finetuned, before, after, held_out.target))
        longest = max(longest, time.monotonic() - start)
    return trials


def _concatenate(trials: Sequence[Trial]) -> tuple[Tensor, Tensor, Tensor]:
    """Predictions before and after fine-tuning and the truth, of all held-out rows."""
    parts = zip(*((each.before, each.after, each.truth) for each in trials), strict=True)
    before, after, truth = (torch.cat(part) for part in parts)
    return before, after, truth


def _best_weight(trials: Sequence[Trial], classes: int) -> float:
    """The weight of the fine-tuned networks with the least loss; a half if the difference is small."""
    before, after, truth = _concatenate(trials)

    def loss(weight: float) -> float:
        prediction = torch.lerp(before, after, weight)
        if classes:
            return -prediction.gather(1, truth.long()[:, None]).clamp(min=1e-6).log().mean().item()
        return (prediction[:, 0] - truth).square().mean().item()

    losses = {weight: loss(weight) for weight in WEIGHTS}
    best = min(losses, key=lambda weight: losses[weight])
    return best if losses[best] < 0.98 * losses[0.5] else 0.5
