"""How good answers are: AUC, accuracy and log-loss of classes, RMSE and R² of numbers."""

from itertools import combinations

import numpy as np
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from .files import Array


def class_scores(truth: Array, chances: Array) -> dict[str, float]:
    """`truth` counts the columns of `chances`, a row of which sums to one."""
    chances = chances.astype(np.float64)
    chances = chances / chances.sum(axis=1, keepdims=True)
    return {
        "auc": auc(truth, chances),
        "accuracy": float((chances.argmax(axis=1) == truth).mean()),
        "log_loss": float(log_loss(truth, chances, labels=np.arange(chances.shape[1]))),
    }


def auc(truth: Array, chances: Array) -> float:
    """The mean over pairs of classes, each class of a pair against the other (Hand and Till, 2001): `ovo`, macro.

    For two classes it is the plain AUC. Pairs of which a class is nowhere in `truth` say nothing and are left out.
    """
    pairs = list(combinations(np.unique(truth), 2))
    if not pairs:
        raise ValueError("all rows that are asked for are of one class: there is no AUC")
    return float(np.mean([_auc_of(truth, chances, *pair) for pair in pairs]))


def _auc_of(truth: Array, chances: Array, one: int, other: int) -> float:
    rows = (truth == one) | (truth == other)
    sides = [roc_auc_score(truth[rows] == side, chances[rows, side]) for side in (one, other)]
    return float(np.mean(sides))


def number_scores(truth: Array, answers: Array) -> dict[str, float]:
    return {
        "rmse": float(np.sqrt(np.mean((truth - answers) ** 2))),
        "r2": float(r2_score(truth, answers)),
    }
