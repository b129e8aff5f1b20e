"""A small table: the pre-trained network, fine-tuned copies of it and learned keys.

Each is trained once for every fold, without the rows that are held out in it; their predictions of those rows decide
the weights. At prediction the folds are averaged, and all rows are context. Boosted trees, which large tables have
beside them, gain nothing here.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.machine import seed_for
from regard.models.in_context import InContextModel
from regard.tables.calibrate import Calibration
from regard.tables.encode.table import EncodedTable, join
from regard.tables.ensemble import Ensemble
from regard.tables.finetune import finetune
from regard.tables.folds import MIN_HELD_OUT, split_folds
from regard.tables.network.in_context import ClosedFormCache, InContextPredictor, Members
from regard.tables.network.learned_keys import LearnedKeysPredictor, train_learned_keys
from regard.tables.predictor import Predictor
from regard.tables.progress import report, within
from regard.tables.weighting import best_weights
from regard.train import DivergedError

MAX_HELD_OUT = 1000  # rows of a fold: more would take time and tell the same
FOLDS = 3
MAX_FOLDS = 5  # if there is time for more
STOP_FOLDS = 6  # one in six of the training rows stops the training of keys
TRIAL_MEMBERS = 2  # for held-out rows: both networks have the same ones, so few suffice
KEYS_TIME = 0.3  # fraction of a fold's time


@dataclass(frozen=True)
class Candidate:
    """A predictor of one fold: what it predicts for the held-out rows, and the same with the whole table as context."""

    held_out: Float[Tensor, "row prediction"]
    build: Callable[[Members], Predictor]  # a network reads with these members


@dataclass(frozen=True)
class Fold:
    held_out: EncodedTable
    candidates: dict[str, Candidate]


@dataclass(frozen=True)
class Small:
    """What all folds have in common."""

    model: InContextModel
    table: EncodedTable
    seed: int
    cache: ClosedFormCache

    def train(self, number: int, rest: EncodedTable, held_out: EncodedTable, seconds: float) -> Fold:
        """The candidates of one fold; one whose training diverges is left out."""
        end = time.monotonic() + seconds
        cache = ClosedFormCache()

        def read_by(network: InContextModel) -> Candidate:
            trial = InContextPredictor(network, rest, Members(TRIAL_MEMBERS), self.seed, cache)
            return Candidate(
                trial.predict(held_out.values),
                lambda members: InContextPredictor(network, self.table, members, self.seed, self.cache),
            )

        began = time.monotonic()
        report("in context")
        candidates = {"in_context": read_by(self.model)}
        one_pass = time.monotonic() - began
        report("learned keys")
        with suppress(DivergedError):
            candidates["learned_keys"] = self._train_keys(number, rest, held_out, KEYS_TIME * seconds)
        left = max(end - time.monotonic() - one_pass, 0.2 * seconds)
        report("fine-tuning")
        with suppress(DivergedError):
            finetuned = finetune(self.model, rest, held_out, left, seed_for("tune", self.seed, number))
            candidates["finetuned"] = read_by(finetuned)
        return Fold(held_out, candidates)

    def _train_keys(self, number: int, rest: EncodedTable, held_out: EncodedTable, seconds: float) -> Candidate:
        """The held-out rows only compare: other rows stop the training."""
        learns, stops = split_folds(rest, STOP_FOLDS, self.seed, MAX_HELD_OUT)[0]
        keys = train_learned_keys(learns, stops, seconds, seed_for("keys", self.seed, number))
        trial = LearnedKeysPredictor(keys, rest, self.seed)
        return Candidate(trial.predict(held_out.values), lambda _: LearnedKeysPredictor(keys, self.table, self.seed))


def auto_small(model: InContextModel, table: EncodedTable, members: int, seed: int, seconds: float) -> Ensemble | None:
    """As many folds as there is time for; None if there is none for even one, or too few rows to hold some out."""
    began = time.monotonic()
    splits = split_folds(table, MAX_FOLDS, seed, MAX_HELD_OUT)
    if table.classes == 1 or min(len(held_out.target) for _, held_out in splits) < MIN_HELD_OUT:
        return None
    small = Small(model, table, seed, ClosedFormCache())
    passes = 2 * TRIAL_MEMBERS * _seconds_per_pass(model, *splits[0], seed)  # of a fold, over its held-out rows
    planned = min(FOLDS, int(seconds / (2 * passes)))
    folds: list[Fold] = []
    longest = 0.0
    # If there was time for all that were planned, the smallest tables leave some for more.
    for number, (rest, held_out) in enumerate(splits if planned == FOLDS else splits[:planned]):
        start = time.monotonic()
        left = 0.9 * seconds - (start - began)
        each = left / max(1, planned - number)
        if each <= passes or (number >= planned and left < longest):
            break
        with within(f"fold {number + 1} of {max(planned, number + 1)}"):
            folds.append(small.train(number, rest, held_out, each))
        longest = max(longest, time.monotonic() - start)
    report("weighting and calibrating")
    return _ensemble(folds, members, table) if folds else None


def _seconds_per_pass(model: InContextModel, rest: EncodedTable, held_out: EncodedTable, seed: int) -> float:
    began = time.monotonic()
    InContextPredictor(model, rest, Members(1), seed).predict(held_out.values)
    return time.monotonic() - began


def _ensemble(folds: Sequence[Fold], members: int, table: EncodedTable) -> Ensemble:
    """The candidates that every fold has, weighted and calibrated by the held-out rows."""
    names = [name for name in folds[0].candidates if all(name in fold.candidates for fold in folds)]
    predictions = [torch.cat([fold.candidates[name].held_out.double() for fold in folds]) for name in names]
    held_out = join([fold.held_out for fold in folds])
    weights = best_weights(predictions, held_out)
    blended = torch.stack([weight * each for weight, each in zip(weights, predictions, strict=True)]).sum(0)
    used = [
        # The pre-trained network is the same in every fold.
        (name, fold.candidates[name], weight if name == "in_context" else weight / len(folds))
        for name, weight in zip(names, weights, strict=True)
        for fold in (folds[:1] if name == "in_context" else folds)
        if weight > 0
    ]
    networks = sum(name in ("in_context", "finetuned") for name, _, _ in used)
    count = min(members, max(1, 2 * members // max(1, networks)))
    # Each network has members of its own, so that more orders of columns and classes are averaged.
    predictors = [each.build(Members(count, number * count)) for number, (_, each, _) in enumerate(used)]
    return Ensemble(predictors, [part for _, _, part in used], Calibration.fit(blended, held_out, table))
