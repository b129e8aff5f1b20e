"""Spans: the runs of words of a document that can be its summary, and the features that they are scored by.

A span lies within a sentence. Its score is a sum over its beginning, its end, its length and the words inside, so all
spans of a document are scored from a few numbers for each word. Features are hashed: no vocabulary is kept. Only numpy
is needed: the file is also copied beside exported summarisers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

BITS = 17
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
SENTENCES = 30  # of a document that are read
STARTS = 12  # words of a sentence that a span can begin with; later ones only after a punctuation mark
INSIDE = 0.3  # value of the feature of a word inside; others count one
PAUSES = ",;:("  # signs that a span can begin after, and that it does not end with
OPENINGS = "([–—-"  # signs that a span can begin with

Span = tuple[int, int, int]  # sentence, first word, word after the last


def feature(*words: object) -> int:
    return crc32("\x1f".join(map(str, words)).encode("utf-8", "surrogatepass")) >> (32 - BITS)


@dataclass(frozen=True)
class Document:
    sentences: Sequence[Sequence[str]]
    words: Sequence[Sequence[str]]  # the same without case

    @classmethod
    def of(cls, text: str) -> "Document":
        parts = [part.split() for part in SENTENCE_END.split(text.strip())]
        sentences = [part for part in parts if part][:SENTENCES]
        return cls(sentences, [[word.casefold() for word in sentence] for sentence in sentences])

    def spans(self, max_words: int) -> Iterator[Span]:
        """Every span of at most `max_words` words, and every sentence; none that has pauses only, and so no text."""
        for number, sentence in enumerate(self.sentences):
            size = len(sentence)
            for first in range(size):
                if first < STARTS or sentence[first - 1][-1] in PAUSES or sentence[first][0] in OPENINGS:
                    end = min(size, first + max_words)
                    word = next((place for place in range(first, end) if sentence[place].strip(PAUSES)), end)
                    yield from ((number, first, last) for last in range(word + 1, end + 1))
            if size > max_words and any(word.strip(PAUSES) for word in sentence):
                yield number, 0, size

    def scores(self, weight: np.ndarray, spans: Sequence[Span]) -> np.ndarray:
        """The sum of the weights of the features of each span."""
        inside = [np.cumsum([0.0, *INSIDE * weight[self.inside(number)]]) for number in range(len(self.words))]
        starts = {(number, first): weight[self.start(number, first)].sum() for number, first, _ in spans}
        ends = {(number, last): weight[self.end(number, last)].sum() for number, _, last in spans}
        lengths = {last - first: weight[length_feature(last - first)] for _, first, last in spans}
        return np.array(
            [
                starts[number, first]
                + ends[number, last]
                + lengths[last - first]
                + inside[number][last]
                - inside[number][first]
                for number, first, last in spans
            ]
        )

    def text(self, span: Span) -> str:
        number, first, last = span
        return " ".join(self.sentences[number][first:last]).rstrip(PAUSES + " ")

    def start(self, number: int, first: int) -> list[int]:
        """Features of a span that begins here."""
        words, sentence = self.words[number], min(number, 9)
        before, word = words[first - 1] if first else "", words[first]
        after = words[first + 1] if first + 1 < len(words) else ""
        opening = words[0], words[1] if len(words) > 1 else ""
        named: list[tuple[object, ...]] = [("p", before), ("f", word), ("s", before, word), ("f2", word, after)]
        named.append(("o", *opening))
        named += [("oa", *opening, min(first, 6)), ("a", min(first, 15)), ("n", sentence)]
        named += [("na", sentence, min(first, 3)), ("z", number == len(self.words) - 1)]
        return [feature(*one) for one in named]

    def end(self, number: int, last: int) -> list[int]:
        """Features of a span that ends before this word."""
        words = self.words[number]
        word, after = words[last - 1], words[last] if last < len(words) else ""
        named: list[tuple[object, ...]] = [("l", word), ("e", after), ("le", word, after)]
        named.append(("r", min(len(words) - last, 10)))
        return [feature(*one) for one in named]

    def inside(self, number: int) -> list[int]:
        return [feature("w", word) for word in self.words[number]]


def length_feature(length: int) -> int:
    return feature("L", min(length, 60))


def best_span(text: str, weight: np.ndarray, mean: float, max_words: int) -> tuple[str, float]:
    """The span with the highest score, and the ROUGE-L to expect of it; a text without words is its own summary."""
    document = Document.of(text)
    spans = list(document.spans(max_words))
    if not spans:
        return text.strip(), 0.0
    scores = document.scores(weight, spans) + mean
    place = int(scores.argmax())
    return document.text(spans[place]), float(np.clip(scores[place], 0, 1))
