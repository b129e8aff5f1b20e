"""Resemblance: what the known rows that are like a row say of it, given to a network as a fact.

Attention whose keys are the rows themselves: a row is looked at the more the nearer it is, by the sum of what separates
their cells. What each known row says is not its label but what makes the sum right for all of them at once, which is
ridge regression with a Laplace kernel and has a closed form (Saunders et al., 1998); so has what is said of a known row
when that row is left out. How much each entry counts is read off the slopes of a first answer, as they are steep where
an entry matters (Radhakrishnan et al., 2024).
"""

from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.parts.column_facts import ColumnFacts, Values
from regard.parts.straight import Design, Guess, root_of

REACHES = (0.5, 1.5, 4.0)  # in usual distances between rows
PENALTIES = (0.03, 0.3, 2.0)  # in rows that say nothing
FIRST_REACH, FIRST_PENALTY = 1.0, 0.1  # of the answer whose slopes are measured
ROUNDS = 2  # of that
LEARNED_FROM = 1024  # rows that say how much each entry counts
CHOSEN_BY = 256  # rows that say whether learned weights are better, and which reach and penalty is best
CHOSEN_AGAIN_BY = 1024  # of at most half of all rows: the more there are, the nearer are those that a row can rely on
ASKED = 64  # rows whose slopes are measured
MOST_LABELS = 8  # that are asked for slopes: what matters to common ones mostly does to the rest
LEAST = 0.01  # that an entry counts, beside the one that counts most
BITS = 4  # by which categories are told apart
RANKS = 12**0.5  # brings ranks to the deviation of numbers


def entries_of(
    values: Values,
    facts: Float[Tensor, "table row column fact"],
    means: Float[Tensor, "table row column few"],
    columns: ColumnFacts,
) -> Design:
    """What rows are compared by: numbers and ranks in equal parts, and which cells are missing.

    Of categories it is what their rows say in the mean, and bits that tell them apart.
    """
    number = (facts[..., 0] + RANKS * facts[..., 1]) / 2
    missing = values.isnan()
    counts = columns.counts
    kinds = (columns.category & ~counts)[:, None] & ~missing
    code = _codes(values.device)[(values.nan_to_num(0.0).long() % 2**BITS)] * kinds[..., None]
    told = means.where(~counts[:, None, :, None], 0.0)
    return torch.cat([number.where(counts[:, None], 0.0), missing.float(), code.flatten(2), told.flatten(2)], -1)


def _codes(device: torch.device) -> Float[Tensor, "kind bit"]:
    """Bits of every kind; the first few kinds have one each, so that all of them are equally far apart."""
    kinds = torch.arange(2**BITS, device=device)
    bits = (kinds[:, None] >> torch.arange(BITS, device=device)) & 1
    return bits[((bits.sum(1) - 1) % (BITS + 1)).argsort(stable=True)].float()


@dataclass(frozen=True)
class Resemblance:
    told: Int[Tensor, " told"]  # which entries tell rows apart
    weight: Float[Tensor, "table one told"]  # how much each of them counts
    rows: Float[Tensor, "table speaker told"]  # that others are compared with: the known ones, weighted
    penalty: Float[Tensor, "table one one"]
    say: Float[Tensor, "table speaker label"]
    level: Float[Tensor, "table one label"]
    own: Guess  # of the known rows, each by the others

    @classmethod
    def fit(cls, entries: Design, labels: Guess) -> "Resemblance":
        """`entries` and `labels` are those of the known rows."""
        level = labels.mean(1, keepdim=True)
        y = labels - level
        with torch.autocast(entries.device.type, enabled=False):
            told, weight, penalty = settle(entries, y)
            rows = entries[..., told] * weight
            say, own = _solve(near(rows, rows), y, penalty)
        return cls(told, weight, rows, penalty, say, level, own + level)

    def guess(self, entries: Design) -> Guess:
        # In 64 bits, so that what is said of a row does not depend on the rows beside it, not even in the last digit.
        with torch.autocast(entries.device.type, enabled=False):
            seen = near(entries[..., self.told] * self.weight, self.rows)
            return (seen.double() @ self.say.double() + self.level).to(entries.dtype)

    def shares(self, entries: Design) -> Float[Tensor, "table row known"]:
        """How much the label of each known row counts in the guess, for or against, as shares.

        That is not kept, as it takes the square of the rows.
        """
        seen = near(entries[..., self.told] * self.weight, self.rows)
        counted = torch.cholesky_solve(seen.transpose(1, 2), _root(near(self.rows, self.rows), self.penalty))
        return as_shares(counted.transpose(1, 2))


def settle(entries: Design, y: Tensor) -> tuple[Int[Tensor, " told"], Tensor, Tensor]:
    """Which entries tell rows apart, how much each of them counts with the reach in it, and the penalty."""
    varies = (entries != entries[:, :1]).any(1, keepdim=True)
    told = varies.any(0)[0].nonzero()[:, 0]
    told = told if len(told) else torch.arange(1, device=entries.device)
    entries = entries[..., told]
    learned = _learned_weight(some(LEARNED_FROM, entries), some(LEARNED_FROM, y))
    alike = varies[..., told].float()  # all that tell rows of this table apart; others may do so in another
    weight, penalty = _choose(some(CHOSEN_BY, entries), some(CHOSEN_BY, y), [alike, alike * learned])
    more = min(CHOSEN_AGAIN_BY, entries.shape[1] // 2)
    if more > CHOSEN_BY:
        weight, penalty = _choose(some(more, entries), some(more, y), [weight])
    return told, weight, penalty


def as_shares(counted: Float[Tensor, "table row known"]) -> Float[Tensor, "table row known"]:
    """For or against, as shares."""
    counted = counted.abs()
    return counted / counted.sum(-1, keepdim=True).clamp(min=1e-12)


def some(most: int, rows: Tensor) -> Tensor:
    """Drawn by chance, as rows may be in an order, but always the same of so many."""
    count = rows.shape[1]
    if count <= most:
        return rows
    return rows[:, torch.randperm(count, generator=torch.Generator().manual_seed(0))[:most].to(rows.device)]


def near(rows: Design, others: Float[Tensor, "table other entry"]) -> Float[Tensor, "table row other"]:
    return torch.cdist(rows, others, p=1).neg().exp()


def _usual_distance(rows: Design) -> Float[Tensor, "table one one"]:
    far = torch.cdist(some(64, rows), rows, p=1)
    return far.flatten(1).median(1).values.clamp(min=1e-6)[:, None, None]


def _solve(seen: Tensor, y: Tensor, penalty: Float[Tensor, "table one one"]) -> tuple[Tensor, Guess]:
    """What each row says, and the guess of every row by the others."""
    inverse = torch.cholesky_inverse(_root(seen, penalty))
    say = inverse @ y
    return say, y - say / inverse.diagonal(dim1=1, dim2=2)[..., None].clamp(min=1e-6)


def _root(seen: Float[Tensor, "table row row"], penalty: Float[Tensor, "table one one"]) -> Tensor:
    return root_of(seen + penalty * torch.eye(seen.shape[1], device=seen.device))


def _learned_weight(entries: Design, y: Tensor) -> Float[Tensor, "table one entry"]:
    common = y.square().sum(1).argsort(descending=True)[:, None, :MOST_LABELS]
    y = y.gather(2, common.expand(-1, y.shape[1], -1))
    weight = torch.ones_like(entries[:, :1])
    penalty = torch.full_like(y[:, :1, :1], FIRST_PENALTY)
    for _ in range(ROUNDS):
        rows = entries * (weight / (FIRST_REACH * _usual_distance(entries * weight)))
        seen = near(rows, rows)
        say, _ = _solve(seen, y, penalty)
        side = (some(ASKED, rows)[:, :, None] - rows[:, None]).sign()
        slope = (some(ASKED, seen)[:, :, None] * say.transpose(1, 2)[:, None]) @ side
        steep = weight * slope.square().mean((1, 2))[:, None].sqrt()
        weight = (steep / steep.amax(2, keepdim=True).clamp(min=1e-12)).clamp(min=LEAST)
    return weight


def _choose(entries: Design, y: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The weight, with the reach in it, and the penalty whose guesses of rows that were left out err least."""
    tried = []
    for weight, reach in product(weights, REACHES):
        scaled = weight / (reach * _usual_distance(entries * weight))
        seen = near(entries * scaled, entries * scaled)
        for number in PENALTIES:
            penalty = torch.full_like(y[:, :1, :1], number)
            error = (y - _solve(seen, y, penalty)[1]).square().mean((1, 2))
            tried.append((error.nan_to_num(torch.inf), scaled, penalty))
    errors, scales, penalties = (torch.stack(parts) for parts in zip(*tried, strict=True))
    best, tables = errors.argmin(0), torch.arange(len(y), device=y.device)
    return scales[best, tables], penalties[best, tables]
