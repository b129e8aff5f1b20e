"""Three ways to predict: read the table as it is, go on training on it first, or train a network of its own.

Each gives something that answers rows.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.core.machine import seed_for
from regard.models.in_context import InContextModel
from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.reader import Looks, Reader, Shared
from regard.tables.sharpness import best_power, sharpened
from regard.tables.tune import tune
from regard.tables.views import MOST_ROWS, Table
from regard.train import DivergedError

FEWEST_HELD_OUT = 12  # rows: fewer tell nothing, and those that are left teach less than they say when they are read
FOLDS = 3  # networks that are tuned, each with other rows held out
MOST_FOLDS = 5  # where there is time for more
ANSWERING = 0.6  # of the time may go to reading a large table in the end
SCALES = 2  # on which numbers are shown, each of which is counted by itself
GLANCES = 2  # views in which held-out rows are told: both networks have the same, so few suffice
MOST_HELD_OUT = 1000  # rows: more would take time and say the same
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the tuned networks in the answer


@runtime_checkable
class Answers(Protocol):
    """Whatever has learned a table."""

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        """The probability of each class; or the mean and the quantiles of a number."""


@dataclass(frozen=True)
class Blend:
    """Several readers, each with its share of the answer."""

    readers: Sequence[Reader]
    shares: Sequence[float]
    sharpness: float = 1.0  # the power to which chances of classes are raised

    def answer(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row answer"]:
        parts = [share * reader.answer(values) for reader, share in zip(self.readers, self.shares, strict=True)]
        return sharpened(torch.stack(parts).sum(0), self.sharpness)


def in_context(model: InContextModel, table: Table, views: int, seed: int) -> Blend:
    """The network reads the table; nothing is trained."""
    readers = [Reader(model, table, Looks(views, local=True), seed)]
    return Blend(readers, [1.0], _sharpness(model, table, seed) if table.classes > 2 else 1.0)


def _sharpness(model: InContextModel, table: Table, seed: int) -> float:
    """How sure the network may be, by one look at rows that it is not told; of a large table at some of its rows."""
    some = torch.linspace(0, len(table.values) - 1, min(len(table.values), MOST_ROWS)).round().long()
    rest, held_out = _folds(table.rows(some), seed)[0]
    if len(held_out.target) < FEWEST_HELD_OUT:
        return 1.0
    return best_power(Reader(model, rest, Looks(1), seed).answer(held_out.values), held_out.target)


def auto(model: InContextModel, table: Table, views: int, seed: int, seconds: float) -> Blend:
    """The network, and copies of it that went on training on the table; held-out rows say how much of each.

    As many folds are tuned as there is time for; where there is none for even one, the table is only read.
    """
    began = time.monotonic()
    splits = _folds(table, seed)
    if table.classes == 1 or min(len(held_out.target) for _, held_out in splits) < FEWEST_HELD_OUT:
        return in_context(model, table, views, seed)
    shared, looks = Shared(), 2 * views
    look = first_look = _seconds_of_a_look(model, *splits[0], seed, shared)
    if len(table.values) > MOST_ROWS:  # reading takes long, and whoever waits for answers waits for that too
        look = _seconds_of_a_look(model, *splits[0], seed, shared)
        counting = SCALES * max(0.0, first_look - look)  # what all looks share
        possible = int((ANSWERING * seconds - counting) / look)
        if possible <= views:  # many looks come first: they are worth more than tuning
            return in_context(model, table, max(1, possible), seed)
        looks = views
        seconds -= looks * look + counting
    trials = _trials(model, splits, look, began, seconds, seed)
    if not trials:
        return in_context(model, table, views, seed)
    share = _best_share(trials, table.classes)
    plain, told, truth = _together(trials)
    sharpness = best_power(torch.lerp(plain, told, share), truth) if table.classes > 2 else 1.0
    parts = [(model, 1 - share), *((trial.tuned, share / len(trials)) for trial in trials)]
    used = [(own, part) for own, part in parts if part > 0]
    count = min(views, max(1, looks // len(used)))
    # Each network looks in its own way: what depends on the order of columns or classes is averaged over more of them.
    shared = Shared()
    readers = [Reader(own, table, Looks(count, number * count), seed, shared) for number, (own, _) in enumerate(used)]
    return Blend(readers, [part for _, part in used], sharpness)


def _seconds_of_a_look(model: InContextModel, rest: Table, held_out: Table, seed: int, shared: Shared) -> float:
    began = time.monotonic()
    Reader(model, rest, Looks(1), seed, shared).answer(held_out.values)
    return time.monotonic() - began


@dataclass(frozen=True)
class Trial:
    """A network that was tuned, and what it and the untuned one say of rows that neither has seen."""

    tuned: InContextModel
    plain: Float[Tensor, "row answer"]
    told: Float[Tensor, "row answer"]
    truth: Float[Tensor, " row"]


def _trials(
    model: InContextModel, splits: list[tuple[Table, Table]], look: float, began: float, seconds: float, seed: int
) -> list[Trial]:
    """One for each fold that there is time for, all of about the same length."""
    looking = 2 * GLANCES * look  # of a fold: before and after it is tuned
    folds = min(FOLDS, int(seconds / (2 * looking)))
    trials: list[Trial] = []
    longest = 0.0
    # Where there was time for all that were planned, small tables leave some for more.
    for number, (rest, held_out) in enumerate(splits if folds == FOLDS else splits[:folds]):
        start = time.monotonic()
        left = 0.9 * seconds - (start - began)
        tuning = left / max(1, folds - number) - looking
        if tuning <= 0 or (number >= folds and left < longest):
            break
        shared = Shared()
        plain = Reader(model, rest, Looks(GLANCES), seed, shared).answer(held_out.values)
        try:
            tuned = tune(model, rest, held_out, tuning, seed_for("tune", seed, number))
        except DivergedError:  # then there are the others, and the network as it was
            continue
        told = Reader(tuned, rest, Looks(GLANCES), seed, shared).answer(held_out.values)
        trials.append(Trial(tuned, plain, told, held_out.target))
        longest = max(longest, time.monotonic() - start)
    return trials


def _folds(table: Table, seed: int) -> list[tuple[Table, Table]]:
    """Rows to learn from and rows held out, five times, each row held out once.

    Equal rows, such as those that count several times, go together: one would tell the other's target.
    """
    cells = torch.cat([table.values.double(), table.target.double()[:, None]], 1).nan_to_num(nan=torch.inf)
    rows, same = torch.unique(cells, dim=0, return_inverse=True)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed_for("folds", seed)))
    if table.classes:  # each class is spread over the folds
        order = order[rows[order, -1].argsort(stable=True)]
    turn = torch.empty_like(order)
    turn[order] = torch.arange(len(rows)) % MOST_FOLDS
    folds = []
    for fold in range(MOST_FOLDS):
        held_out = (turn[same] == fold).nonzero()[:, 0]
        some = torch.linspace(0, len(held_out) - 1, min(len(held_out), MOST_HELD_OUT)).round().long()
        folds.append((table.rows((turn[same] != fold).nonzero()[:, 0]), table.rows(held_out[some])))
    return folds


def _together(trials: Sequence[Trial]) -> tuple[Tensor, Tensor, Tensor]:
    """All held-out rows: what the untuned network says of them, what tuned ones say, and what is true."""
    parts = zip(*((each.plain, each.told, each.truth) for each in trials), strict=True)
    plain, told, truth = (torch.cat(part) for part in parts)
    return plain, told, truth


def _best_share(trials: Sequence[Trial], classes: int) -> float:
    """The share of tuned networks that loses least; half where little is to be told apart."""
    plain, told, truth = _together(trials)

    def loss(share: float) -> float:
        answer = torch.lerp(plain, told, share)
        if classes:
            return -answer.gather(1, truth.long()[:, None]).clamp(min=1e-6).log().mean().item()
        return (answer[:, 0] - truth).square().mean().item()

    losses = {share: loss(share) for share in SHARES}
    best = min(losses, key=lambda share: losses[share])
    return best if losses[best] < 0.98 * losses[0.5] else 0.5


def check_levels(levels: Sequence[float]) -> None:
    if not all(0 < level < 1 for level in levels):
        raise ConfigError(f"quantiles: must lie between 0 and 1, not {list(levels)}")


def quantiles_of(answer: Float[Tensor, "row answer"], levels: Sequence[float]) -> Float[Tensor, "row level"]:
    """Any quantiles of predicted numbers, between those that the network gives."""
    known = quantile_levels(answer.shape[1] - 1).to(answer.dtype)
    heights = answer[:, 1:]
    wanted = torch.tensor(list(levels), dtype=answer.dtype)
    place = torch.searchsorted(known, wanted).clamp(1, len(known) - 1)
    share = (wanted - known[place - 1]) / (known[place] - known[place - 1])
    return torch.lerp(heights[:, place - 1], heights[:, place], share)
