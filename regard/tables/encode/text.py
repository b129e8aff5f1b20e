"""Text in cells, as a few numbers: TF-IDF of hashed n-grams, projected.

With a target, the projection is ridge regression: a number says what the words alone predict, for each class or for the
target itself. A training row is predicted without its own target, as every later row is; otherwise the number would be
a copy of the target in training, and noise afterwards. Without a target, the projection is a truncated SVD.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int
from scipy import sparse

from regard.tables.encode.cells import as_label
from regard.tables.encode.hashing import MAX_CHARACTERS
from regard.tables.encode.ngrams import BUCKETS, count_ngrams
from regard.tables.encode.text_scores import fit_scores

COMPONENTS = 10  # of the truncated SVD
MAX_ROWS = 20_000  # that a projection is fitted to
MAX_TOTAL = 10_000_000  # characters of them
TEXTS_PER_PASS = 4096
UNIQUE = 0.9  # distinct texts for each row below which texts count as repeated
SHOWN = 300  # characters of a text that are kept to be shown
MIN_FREQUENT = 50  # texts from which on an n-gram must occur twice to count

TextTargets = Float[np.ndarray, "row score"]  # numbers that words may predict; NaN: a row that nothing is learned from


@dataclass(frozen=True)
class TextEncoder:
    """TF-IDF weights of the n-grams that were seen, and their projection."""

    buckets: Int[np.ndarray, " ngram"]  # ascending
    idf: Float32[np.ndarray, " ngram"]
    projection: Float32[np.ndarray, "ngram number"]
    offset: Float32[np.ndarray, " number"]

    @property
    def width(self) -> int:
        return len(self.offset)

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "text number"]:
        """The numbers of each text; they depend on no other text."""
        place, distinct = pd.factorize(np.array([*texts, ""], dtype=object)[:-1])
        parts = [np.empty((0, self.width), np.float32)]
        for first in range(0, len(distinct), TEXTS_PER_PASS):
            counts = count_ngrams(distinct[first : first + TEXTS_PER_PASS].tolist())
            parts.append(weigh(counts, self.buckets, self.idf) @ self.projection)
        return np.concatenate(parts)[place] + self.offset


def weigh(
    counts: sparse.csr_array, buckets: Int[np.ndarray, " ngram"], idf: Float32[np.ndarray, " ngram"]
) -> sparse.csr_array:
    """TF-IDF with logarithmic counts; pieces and words are normalised apart, so that each is half of a text."""
    counts = sparse.csr_array(counts[:, buckets])
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    halves = np.searchsorted(buckets, BUCKETS)
    parts = []
    for half in (counts[:, :halves], counts[:, halves:]):
        norm = np.sqrt(half.multiply(half).sum(1))
        parts.append(sparse.diags_array((np.sqrt(0.5) / np.maximum(norm, 1e-12)).astype(np.float32)) @ half)
    return sparse.csr_array(sparse.hstack(parts, format="csr", dtype=np.float32))


def fit_text(
    texts: Sequence[str], targets: TextTargets | None
) -> tuple[TextEncoder, Float32[np.ndarray, "text number"]]:
    """An encoder, and the numbers of the texts that it was fitted to: out of sample where it has learned from them."""
    if targets is not None and np.isnan(targets).any(1).all():
        targets = None
    rows = _sample(texts, None if targets is None else ~np.isnan(targets).any(1))
    counts = count_ngrams([texts[row] for row in rows])
    frequency = np.bincount(counts.indices, minlength=2 * BUCKETS)
    buckets = np.flatnonzero(frequency >= (2 if len(rows) >= MIN_FREQUENT else 1))
    buckets = buckets if len(buckets) else np.arange(1)
    idf = (np.log((1 + len(rows)) / (1 + frequency[buckets])) + 1).astype(np.float32)
    weights = weigh(counts, buckets, idf)
    if targets is None:
        projection = _components(weights)
        encoder = TextEncoder(buckets, idf, projection, np.zeros(projection.shape[1], np.float32))
        return encoder, encoder.encode(texts)
    repeats = len({texts[row] for row in rows.tolist()}) < UNIQUE * len(rows)
    projection, offset, known = fit_scores(weights, targets[rows], repeats)
    encoder = TextEncoder(buckets, idf, projection, offset)
    others = np.setdiff1d(np.arange(len(texts)), rows)
    numbers = np.empty((len(texts), encoder.width), np.float32)
    numbers[rows] = known
    numbers[others] = encoder.encode([texts[row] for row in others])
    return encoder, numbers


def _sample(texts: Sequence[str], learned: np.ndarray | None) -> Int[np.ndarray, " row"]:
    """Rows to fit to, evenly spaced, so many that their characters do not exceed the most that are read."""
    rows = np.arange(len(texts)) if learned is None else np.flatnonzero(learned)
    total = sum(min(len(texts[row]), MAX_CHARACTERS) for row in rows.tolist())
    most = min(len(rows), MAX_ROWS, max(1, int(len(rows) * MAX_TOTAL / max(1, total))))
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]


def _components(weights: sparse.csr_array) -> Float32[np.ndarray, "ngram number"]:
    from sklearn.utils.extmath import randomized_svd  # slow to import

    count = min(COMPONENTS, *weights.shape)
    _, scale, components = randomized_svd(weights, count, n_iter=3, random_state=0)
    used = max(1, int((scale > 1e-6).sum()))
    return np.ascontiguousarray(components[:used].T, dtype=np.float32)


def as_texts(cells: pd.Series) -> list[str]:
    """Filled cells as text."""
    return [cell if isinstance(cell, str) else str(as_label(cell)) for cell in cells]


def sort_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Distinct texts, cut to what is shown of them, the shortest first."""
    return tuple(sorted({text[:SHOWN] for text in texts}, key=_by_length))


def text_positions(
    texts: Sequence[str], known: Sequence[str], repeats: bool, ranks: Sequence[float] = ()
) -> Float[np.ndarray, " text"]:
    """Where each text stands among the known ones: its length, in ranks, from which a known text can be recovered.

    A text that is not among them stands between two; or, if texts repeat and are categories, has the code after the
    last.
    """
    ranks = ranks or range(len(known))
    positions = np.empty(len(texts))
    for row, text in enumerate(text[:SHOWN] for text in texts):
        place = bisect_left(known, _by_length(text), key=_by_length)
        seen = place < len(known) and known[place] == text
        positions[row] = ranks[place] if seen else len(known) if repeats else sum(_gap(ranks, place)) / 2
    return positions


def add_texts(
    texts: Sequence[str], known: Sequence[str], repeats: bool, ranks: Sequence[float] = ()
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The known texts with more of them, and their ranks, which stay as they were.

    A new text stands between its neighbours, or has the next code. What has learned from ranks can go on with them.
    """
    ranks = list(ranks or range(len(known)))
    gaps: dict[int, list[str]] = {}
    joined = dict(zip(known, ranks, strict=True))
    for text in sort_texts(texts):
        if text not in joined:
            gaps.setdefault(bisect_left(known, _by_length(text), key=_by_length), []).append(text)
    for place, new in gaps.items():
        low, high = _gap(ranks, place)
        for number, text in enumerate(new):
            joined[text] = len(joined) if repeats else low + (high - low) * (number + 1) / (len(new) + 1)
    every = sort_texts(list(joined))
    return every, tuple(joined[text] for text in every)


def _gap(ranks: Sequence[float], place: int) -> tuple[float, float]:
    """The ranks between which a text at this place stands."""
    if not len(ranks):
        return -1, 0
    low = ranks[place - 1] if place else math.ceil(ranks[0]) - 1
    return low, ranks[place] if place < len(ranks) else math.floor(ranks[-1]) + 1


def _by_length(text: str) -> tuple[int, str]:
    return len(text), text
