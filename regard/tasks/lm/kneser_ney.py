"""An n-gram language model with interpolated Kneser-Ney smoothing (Kneser & Ney, 1995; Chen & Goodman, 1999).

The probability of a token after a context is its discounted count there; what the discount takes is shared out by the
model of the next shorter context, which counts in how many different contexts a token occurs. All orders are counted
with sorted arrays: an n-gram is the pair of its context's number and its last token.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Integer

UNSEEN = -1  # the number of an n-gram that does not occur in training

Ids = Integer[np.ndarray, " _"]


@dataclass(frozen=True)
class Level:
    """The n-grams of one length: one entry for each that occurs in training."""

    keys: Int[np.ndarray, " ngram"]  # number of the context times the vocabulary plus the last token, sorted
    counts: Float[np.ndarray, " ngram"]
    discount: float
    total: Float[np.ndarray, " context"]  # counts in each context
    followers: Float[np.ndarray, " context"]  # different tokens after each context


class KneserNey:
    def __init__(self, tokens: Ids, vocab: int, max_length: int):
        self.vocab = vocab
        self.levels: list[Level] = []
        numbered = list(_number(tokens.astype(np.int64), vocab, max_length))
        for place, (keys, ids) in enumerate(numbered):
            if place + 1 == len(numbered):
                counts = np.bincount(ids, minlength=len(keys))
            else:  # of an n-gram that is a context of longer ones: the different tokens before it
                longer_keys, longer = numbered[place + 1]
                one_each = np.zeros(len(longer_keys), dtype=np.int64)
                one_each[longer] = ids[1:]
                counts = np.bincount(one_each, minlength=len(keys))
                counts = np.maximum(counts, 1)  # what begins the text has nothing before it
            self.levels.append(_smoothed(keys, counts.astype(np.float64), vocab))

    def log_probabilities(self, tokens: Ids) -> Float[np.ndarray, " next"]:
        """Of each token but the first, given those before it."""
        tokens = tokens.astype(np.int64)
        count = len(tokens) - 1
        probability = np.full(count, 1.0 / self.vocab)
        context = np.zeros(count, dtype=np.int64)  # the empty context
        for place, level in enumerate(self.levels):
            ids = _find(level.keys, np.where(context < 0, UNSEEN, context * self.vocab + tokens[1:]))
            seen = (context >= 0) & (context < len(level.total))
            total = np.where(seen, level.total[np.where(seen, context, 0)], 0.0)
            known = np.where(ids < 0, 0.0, level.counts[np.maximum(ids, 0)])
            followers = np.where(seen, level.followers[np.where(seen, context, 0)], 0.0)
            mixed = np.maximum(known - level.discount, 0.0) + level.discount * followers * probability
            probability = np.where(total > 0, mixed / np.maximum(total, 1.0), probability)
            # The next context ends one token earlier; at the first token only the token itself does.
            first = _find(level.keys, tokens[:1]) if place == 0 else np.array([UNSEEN])
            context = np.concatenate([first, ids[:-1]])
        return np.log(probability)


def _number(tokens: Ids, vocab: int, max_length: int) -> Iterator[tuple[Ids, Ids]]:
    """For each length: the sorted keys of its n-grams, and the number of the n-gram that ends at each token."""
    context = np.zeros(len(tokens), dtype=np.int64)
    for length in range(1, min(max_length, len(tokens)) + 1):
        keys, ids = np.unique(context * vocab + tokens[length - 1 :], return_inverse=True)
        yield keys, ids
        context = ids[:-1]


def _smoothed(keys: Ids, counts: Float[np.ndarray, " ngram"], vocab: int) -> Level:
    once, twice = float((counts == 1).sum()), float((counts == 2).sum())
    discount = once / (once + 2 * twice) if once and twice else 0.5
    context = keys // vocab
    total = np.bincount(context, weights=counts)
    return Level(keys, counts, discount, total, np.bincount(context, minlength=len(total)).astype(np.float64))


def _find(keys: Ids, wanted: Ids) -> Ids:
    """The place of each wanted key among the sorted keys, or `UNSEEN`."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, UNSEEN)
