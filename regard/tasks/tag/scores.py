"""Scores of tags: accuracy over words; precision, recall and F1 of entity spans where labels are BIO."""

from collections.abc import Sequence
from typing import NamedTuple

Tags = Sequence[Sequence[str]]  # a label for each word of each sentence


class Span(NamedTuple):
    first: int
    end: int  # one past the last word
    kind: str


def tag_scores(predicted: Tags, true: Tags) -> dict[str, float]:
    pairs = [both for one, other in zip(predicted, true, strict=True) for both in zip(one, other, strict=True)]
    scores = {"accuracy": sum(one == other for one, other in pairs) / max(len(pairs), 1)}
    return scores | span_scores(predicted, true) if is_bio(true) else scores


def is_bio(tags: Tags) -> bool:
    """Whether labels mark spans: O, B-kind, I-kind (also E- and S- of the BIOES scheme)."""
    labels = {label for sentence in tags for label in sentence}
    marked = {label for label in labels if label != "O"}
    return "O" in labels and bool(marked) and all(label[:2] in ("B-", "I-", "E-", "S-") for label in marked)


def span_scores(predicted: Tags, true: Tags) -> dict[str, float]:
    """A span is right if its words and its kind are those of a true one (Tjong Kim Sang & De Meulder, 2003)."""
    right = count = true_count = 0
    for one, other in zip(predicted, true, strict=True):
        ours, theirs = set(spans(one)), set(spans(other))
        right, count, true_count = right + len(ours & theirs), count + len(ours), true_count + len(theirs)
    precision, recall = right / max(count, 1), right / max(true_count, 1)
    f1 = 2 * right / max(count + true_count, 1)
    return {"span_precision": precision, "span_recall": recall, "span_f1": f1}


def spans(labels: Sequence[str]) -> list[Span]:
    """The spans of a sentence. An I- that continues no span of its kind starts one, as the CoNLL evaluation has it."""
    result: list[Span] = []
    first, kind = 0, ""
    for place, label in enumerate([*labels, "O"]):
        mark, _, label_kind = label.partition("-")
        continues = kind and label_kind == kind and mark in ("I", "E")
        if kind and not continues:
            result.append(Span(first, place, kind))
            kind = ""
        if mark != "O" and not continues:
            first, kind = place, label_kind
        if kind and mark in ("E", "S"):
            result.append(Span(first, place + 1, kind))
            kind = ""
    return result
