"""Mistakes on held-out rows: residuals of numbers, confused classes, and how a rare class is detected."""

import numpy as np
from jaxtyping import Float
from sklearn.metrics import precision_recall_curve

from regard.tables.costs import Cost, cheapest_threshold, mean_cost
from regard.tables.rare_class import best_threshold, detection_scores
from regard.tables.report.results import Confusion, Detection, Residuals
from regard.tables.splits import sample

MAX_POINTS = 600  # of a plot
MAX_MATRIX = 12  # classes; of more, the most frequent mistakes are listed
MAX_MISTAKES = 10
UNSEEN = "unseen in training"


def residuals(truth: Float[np.ndarray, " row"], predicted: Float[np.ndarray, " row"]) -> Residuals:
    some = sample(np.arange(len(truth)), MAX_POINTS)
    difference = truth - predicted
    return Residuals(tuple(predicted[some].tolist()), tuple(difference[some].tolist()), len(truth))


def confusion(truth: np.ndarray, probabilities: Float[np.ndarray, "row class"], labels: tuple[str, ...]) -> Confusion:
    predicted, classes = probabilities.argmax(1), len(labels)
    unseen = (truth >= classes).any()
    names = (*labels, UNSEEN) if unseen else labels
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (np.minimum(truth, classes), predicted), 1)
    wrong = counts * (1 - np.eye(len(names), dtype=int))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_MISTAKES]
    pairs = [(int(place) // len(names), int(place) % len(names)) for place in order]
    mistakes = tuple(
        (names[true], names[other], int(wrong[true, other])) for true, other in pairs if wrong[true, other]
    )
    shown = tuple(tuple(row.tolist()) for row in counts) if len(names) <= MAX_MATRIX else ()
    return Confusion(names, shown, mistakes)


def recall_steps(
    truth: np.ndarray, probability: Float[np.ndarray, " row"]
) -> tuple[Float[np.ndarray, " corner"], Float[np.ndarray, " corner"]]:
    """The corners of the precision–recall curve, drawn as steps: the area under it is the average precision.

    A step up to some recall has the precision of the first threshold that reaches it. scikit-learn's last point, a
    precision of one at no recall, belongs to no threshold and is not drawn.
    """
    precision, recall, _ = precision_recall_curve(truth, probability)
    reached, first = np.unique(recall[-2::-1], return_index=True)  # by ascending recall
    height = precision[-2::-1][first][reached > 0]
    ends = np.concatenate([[0.0], reached[reached > 0]])
    return np.repeat(ends, 2)[1:-1], np.repeat(height, 2)


def detection(
    truth: np.ndarray,
    probability: Float[np.ndarray, " row"],
    label: str,
    proposed: float | None = None,
    cost: Cost | None = None,
) -> Detection | None:
    """How a class is detected, if any held-out row has it; `truth` is whether each row does.

    The threshold is the one that `fit` has `proposed`, if it has, or else the best one for these rows: by F1, or by the
    cost if there is one.
    """
    if not truth.any():
        return None
    recall, precision = recall_steps(truth, probability)
    threshold = proposed
    if threshold is None:
        by_f1 = best_threshold(truth, probability)[0]
        threshold = by_f1 if cost is None else cheapest_threshold(truth, probability, cost)
    scores = {name: detection_scores(truth, probability, at) for name, at in (("0.5", 0.5), ("proposed", threshold))}
    if cost is not None:
        for name, at in (("0.5", 0.5), ("proposed", threshold)):
            scores[name]["cost"] = mean_cost(truth, probability, at, cost)
    return Detection(
        label,
        float(truth.mean()),
        tuple(recall.tolist()),
        tuple(precision.tolist()),
        scores["0.5"]["average_precision"],
        threshold,
        scores,
        chosen_here=proposed is None,
        cost="" if cost is None else str(cost),
    )
