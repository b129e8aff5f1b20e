"""Two classes, one of them rarer: how well it is detected, and from which probability on it should be predicted.

If one row in a hundred is a fraud, its probability rarely reaches one half, and the most probable class is always the
other one. A lower threshold finds more of them, at the price of false alarms.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from regard.core.errors import ConfigError
from regard.tables.costs import short_number
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.ranges import check_probability

RARE = 0.2  # fraction of the training rows
SIMILAR = 0.4  # from this fraction on neither class is rare, and a name such as yes says which one to detect
POSITIVE = {"1": "0", "yes": "no", "true": "false"}  # with the other class
FEW = 20  # rows of a class, with which its scores are rough


def rare_class(estimator: NPTClassifier | NPTRegressor, number: int = 0) -> int | None:
    """If the `number`-th target has two classes: the one with fewer training rows, or the second of equal ones.

    Of classes of similar size it is 1, yes or true, if the other one is 0, no or false.
    """
    if not isinstance(estimator, NPTClassifier) or estimator.tables_[number].classes != 2:
        return None
    first, second = estimator.class_counts(number).tolist()
    labels = np.asarray(estimator.classes_[number] if estimator.multi_output_ else estimator.classes_).tolist()
    names = [str(label).strip().casefold() for label in labels]
    if min(first, second) >= SIMILAR * (first + second):
        for place, (one, other) in enumerate((names, names[::-1])):
            if POSITIVE.get(one) == other:
                return place
    return int(second <= first)


def is_rare(estimator: NPTClassifier | NPTRegressor, number: int = 0) -> bool:
    """Whether the rarer of two classes has so few training rows that it needs a threshold of its own."""
    rare = rare_class(estimator, number)
    if rare is None:
        return False
    counts = estimator.class_counts(number)
    return float(counts[rare] / counts.sum()) <= RARE


def choose_class(
    estimator: NPTClassifier, probabilities: Float[np.ndarray, "row class"], threshold: float | None, number: int = 0
) -> np.ndarray:
    """The number of the class that is predicted for each row: the most probable one, unless a threshold decides."""
    rare = rare_class(estimator, number)
    if threshold is None or rare is None:
        return probabilities.argmax(1)
    return np.where(probabilities[:, rare] >= threshold, rare, 1 - rare)


def check_threshold(estimator: NPTClassifier | NPTRegressor, threshold: float | None) -> None:
    check_probability(threshold)
    if threshold is None:
        return
    if estimator.multi_output_:
        raise ConfigError(f"--threshold {threshold:g}: is for a run with one target, not {len(estimator.tables_)}")
    if rare_class(estimator) is None:
        raise ConfigError(f"--threshold {threshold:g}: is for a target with two classes")


def detection_scores(
    truth: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"], threshold: float = 0.5
) -> dict[str, float]:
    """Average precision (the area under the precision–recall curve) and, at a threshold, precision, recall and F1."""
    from sklearn.metrics import average_precision_score  # takes most of a second, and few tables have a rare class

    detected = probability >= threshold
    right = float((detected & truth).sum())
    precision, recall = right / max(1, detected.sum()), right / max(1, truth.sum())
    average = float(average_precision_score(truth, probability)) if truth.any() else 0.0
    f1 = 2 * right / max(1, detected.sum() + truth.sum())
    return {"average_precision": average, "precision": precision, "recall": recall, "f1": float(f1)}


def best_threshold(truth: Bool[np.ndarray, " row"], probability: Float[np.ndarray, " row"]) -> tuple[float, float]:
    """A threshold, of few digits, with the largest F1 on these rows, and that F1."""
    from sklearn.metrics import precision_recall_curve

    precision, recall, thresholds = precision_recall_curve(truth, probability)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    best = int(f1[:-1].argmax())
    below = probability[probability < thresholds[best]].max(initial=0.0)
    return short_number(float(below), float(thresholds[best])), float(f1[best])


def confusion(truth: np.ndarray, predicted: np.ndarray, labels: list[Any]) -> dict[str, dict[str, int]]:
    """How many rows of each class are predicted as which; the last row has those of classes unseen in training."""
    rows = [*map(str, labels), *(["unseen"] if (truth >= len(labels)).any() else [])]
    counts = np.zeros((len(rows), len(labels)), dtype=int)
    np.add.at(counts, (np.minimum(truth, len(labels)), predicted), 1)
    return {row: dict(zip(rows, map(int, each), strict=False)) for row, each in zip(rows, counts, strict=True)}
