"""Fitting the extractor: ridge regression of the ROUGE-L of spans on their features."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from regard.data.text.pairs import References
from regard.tasks.summarise.extractor import Extract, Extractor
from regard.tasks.summarise.spans import BITS, INSIDE, Document, Span, length_feature

BEGINNINGS = 20  # words of a document that the spans to learn from begin with, beside those of its sentences
RANDOM, BEST = 25, 5  # of these spans, those that are learned from, beside whole sentences
RIDGE = 30.0
ITERATIONS = 100
MAX_WORDS = 80  # words of a span
WORD = re.compile(r"\w+")


def fit_extractor(documents: Sequence[References], settings: Extract) -> Extractor:
    """Learn from the documents, or from a random part of them."""
    rng = np.random.default_rng(0)
    some = [documents[row] for row in rng.permutation(len(documents))[: settings.documents]]
    max_words = _max_words([target for _, targets in some for target in targets])
    rows: list[list[int]] = []
    insides: list[list[int]] = []
    rouge: list[float] = []
    for source, targets in some:
        document = Document.of(source)
        spans = _some_spans(document, max_words, rng)
        values = span_rouge(document, spans, targets)
        for place in _chosen(document, spans, values, rng):
            number, first, last = spans[place]
            rows.append([*document.start(number, first), *document.end(number, last), length_feature(last - first)])
            insides.append(document.inside(number)[first:last])
            rouge.append(values[place])
    truth = np.array(rouge)
    if not len(truth):
        return Extractor(np.zeros(1 << BITS, np.float32), 0.0, max_words)
    table = _table(rows, 1.0) + _table(insides, INSIDE)
    weight = lsqr(table, truth - truth.mean(), damp=RIDGE**0.5, iter_lim=ITERATIONS)[0]
    return Extractor(weight.astype(np.float32), float(truth.mean()), max_words)


def _max_words(targets: Sequence[str]) -> int:
    """A quarter more than most summaries have."""
    return int(min(MAX_WORDS, max(1, 1.25 * np.quantile([len(target.split()) for target in targets], 0.9))))


def _some_spans(document: Document, max_words: int, rng: np.random.Generator) -> list[Span]:
    spans = list(document.spans(max_words))
    beginnings = list(dict.fromkeys((number, first) for number, first, _ in spans))
    selected = {beginnings[place] for place in rng.permutation(len(beginnings))[:BEGINNINGS]}
    return [span for span in spans if span[1] == 0 or span[:2] in selected]


def _chosen(document: Document, spans: Sequence[Span], values: Sequence[float], rng: np.random.Generator) -> list[int]:
    """Random spans, the best ones, and whole sentences."""
    chosen = rng.permutation(len(spans))[:RANDOM].tolist() + np.argsort(values)[::-1][:BEST].tolist()
    whole = [
        place
        for place, (number, first, last) in enumerate(spans)
        if first == 0 and last == len(document.sentences[number])
    ]
    return list(dict.fromkeys([*chosen, *whole]))


def _table(rows: Sequence[Sequence[int]], value: float) -> sparse.csr_array:
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
    return sparse.csr_array((np.full(ends[-1], value), columns, ends), (len(rows), 1 << BITS))


def span_rouge(document: Document, spans: Sequence[Span], targets: Sequence[str]) -> list[float]:
    """ROUGE-L of each span: F1 of the longest common subsequence with a summary, the best of several summaries.

    All spans that begin at a word share one pass over the words from there.
    """
    lasts: dict[tuple[int, int], int] = {}
    for number, first, last in spans:
        lasts[number, first] = max(last, lasts.get((number, first), 0))
    values: dict[Span, float] = {}
    for reference in map(_words, targets):
        for (number, first), last in lasts.items():
            common, count = [0] * (len(reference) + 1), 0
            for place in range(first, last):
                for word in _words(document.sentences[number][place]):
                    count += 1
                    _extend(common, word, reference)
                span = number, first, place + 1
                values[span] = max(values.get(span, 0.0), 2 * common[-1] / max(count + len(reference), 1))
    return [values[span] for span in spans]


def rouge(text: str, targets: Sequence[str]) -> float:
    """ROUGE-L of a summary, the best of several references."""
    words = Document([text.split()], [])
    return span_rouge(words, [(0, 0, len(words.sentences[0]))], targets)[0] if text.split() else 0.0


def _extend(common: list[int], word: str, reference: Sequence[str]) -> None:
    """One more word: `common[j]` is the length of the longest common subsequence with the first j words."""
    diagonal = 0
    for place, other in enumerate(reference):
        above = common[place + 1]
        common[place + 1] = diagonal + 1 if word == other else max(above, common[place])
        diagonal = above


@lru_cache(2**18)
def _words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.casefold()))
