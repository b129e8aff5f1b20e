"""Scores of predicted labels, for texts, images and words alike."""

from collections.abc import Sequence


def label_scores(answers: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Accuracy, and the F1 of each label averaged over labels."""
    right = sum(answer == reference for answer, reference in zip(answers, references, strict=True))
    by_label = []
    for label in sorted(set(references) | set(answers)):
        both = sum(a == r == label for a, r in zip(answers, references, strict=True))
        predicted, true = answers.count(label), references.count(label)
        by_label.append(2 * both / (predicted + true))
    return {"accuracy": right / len(references), "macro_f1": sum(by_label) / len(by_label)}
