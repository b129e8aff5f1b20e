"""The baseline of translation: word for word, by IBM Model 1 (Brown et al., 1993), or the source as it is."""

from collections.abc import Sequence

import numpy as np

from regard.core.extras import available
from regard.tasks.baseline import Baseline
from regard.tasks.seq2seq.scores import exact_fraction, translation_scores

MAX_PAIRS = 20_000
MAX_WORDS = 50  # of each side
ITERATIONS = 4  # of expectation maximisation
REMEDY = "train longer (--epochs), or with more pairs"

TextPair = tuple[str, str]


def word_for_word(train: Sequence[TextPair], measured: Sequence[TextPair]) -> Baseline:
    """The better of two translations of the measured pairs that no network is needed for."""
    sources, references = [source for source, _ in measured], [target for _, target in measured]
    table = word_table(train[:MAX_PAIRS])
    replaced = [" ".join(filter(None, (table.get(word, word) for word in source.split()))) for source in sources]
    score = "bleu" if available("metrics") else "exact"
    values = {}
    for method, answers in {"the source as it is": sources, "word for word (IBM Model 1)": replaced}.items():
        exact = exact_fraction(answers, references)
        values[method] = exact if score == "exact" else translation_scores(answers, references)["bleu"]
    best = max(values, key=lambda method: values[method])
    return Baseline(best, score, values[best], REMEDY)


def word_table(pairs: Sequence[TextPair]) -> dict[str, str]:
    """The most probable target word of each source word."""
    words: tuple[dict[str, int], dict[str, int]] = ({}, {})
    sides = [[[known.setdefault(word, len(known)) for word in text.split()[:MAX_WORDS]] for text in texts]
             for known, texts in zip(words, zip(*pairs, strict=True), strict=True)]  # fmt: skip
    source = [np.repeat(one, len(other)) for one, other in zip(*sides, strict=True)]
    target = [np.tile(other, len(one)) for one, other in zip(*sides, strict=True)]
    lengths = [len(other) for other in sides[1]]
    starts = np.cumsum([0, *lengths[:-1]])  # of the target words of each pair
    position = [start + np.tile(np.arange(count), len(one))
                for start, count, one in zip(starts, lengths, sides[0], strict=True)]  # fmt: skip
    size = len(words[1])
    if not size or not sum(map(len, source)):
        return {}
    keys, entry = np.unique(np.concatenate(source) * size + np.concatenate(target), return_inverse=True)
    probability = _expectation_maximisation(keys // size, entry, np.concatenate(position).astype(np.int64))
    order = np.lexsort((-probability, keys // size))
    first = order[np.concatenate([[True], np.diff((keys // size)[order]) > 0])]
    names = [list(known) for known in words]
    return {names[0][key // size]: names[1][key % size] for key in keys[first].tolist()}


def _expectation_maximisation(source: np.ndarray, entry: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The probability of each pair of words in the table, given its source word; first all are alike."""
    probability = np.ones(len(source))
    for _ in range(ITERATIONS):
        weight = probability[entry]
        weight /= np.bincount(position, weights=weight)[position]  # each target word comes from one source word
        expected = np.bincount(entry, weights=weight, minlength=len(source))
        probability = expected / np.bincount(source, weights=expected)[source]
    return probability
