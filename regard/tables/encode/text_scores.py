"""Scores of texts: ridge regression of the targets on sparse n-gram weights, out of sample for the training rows.

Of few rows the leave-one-out predictions are exact and follow from one inverse. Of many rows, or of texts that repeat,
folds are held out in turn, and conjugate gradients solve each: among rows with the same text the leave-one-out
prediction is lowest where the target is highest, and would give it away.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from scipy import sparse
from torch import Tensor

MAX_SCORES = 10  # of all targets together: columns that a text may take
MAX_EXACT = 2000  # rows with leave-one-out predictions
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MAX_CHOICE = 800  # rows that the penalty is chosen by
FOLDS = 5
ITERATIONS = 40  # of conjugate gradients

Targets = Float[np.ndarray, "row score"]


def score_targets(targets: Sequence[tuple[Tensor, int]], rows: Int[Tensor, " learned"]) -> Targets:
    """What texts are to predict: classes as indicators, the most frequent ones, and numbers standardised.

    Rows that are not learned from are NaN.
    """
    scores: list[np.ndarray] = []
    learned = np.unique(rows.numpy())
    each = max(1, MAX_SCORES // len(targets))
    for target, classes in targets[:MAX_SCORES]:
        numbers = target.double().numpy()
        if classes:
            frequent = np.bincount(numbers[learned].astype(int), minlength=classes).argsort(kind="stable")[::-1]
            chosen = np.sort(frequent[: 1 if classes == 2 else each])
            scores.append((numbers[:, None] == chosen).astype(float))
        else:
            std = numbers[learned].std()
            scores.append(((numbers - numbers[learned].mean()) / (std if std > 0 else 1.0))[:, None])
    joined = np.full((len(scores[0]), sum(one.shape[1] for one in scores)), np.nan)
    joined[learned] = np.concatenate(scores, axis=1)[learned]
    return joined


def fit_scores(
    weights: sparse.csr_array, targets: Targets, repeats: bool
) -> tuple[Float32[np.ndarray, "ngram score"], Float32[np.ndarray, " score"], Float32[np.ndarray, "row score"]]:
    """The projection and the offset of the scores of new texts, and the scores of these rows by the others alone."""
    mean = targets.mean(0)
    centred = targets - mean
    penalty = _choose_penalty(weights, centred)
    if len(centred) <= MAX_EXACT and not repeats:
        dual, scores = _leave_one_out(_gram(weights), torch.from_numpy(centred), penalty)
        duals, known = dual.numpy(), scores.numpy()
    else:
        duals, known = solve(weights, centred, penalty), np.empty_like(centred)
        fold = _folds(centred)
        for held_out in range(FOLDS):
            rest = weights[fold != held_out]
            solved = rest.T @ solve(rest, centred[fold != held_out], penalty)
            known[fold == held_out] = weights[fold == held_out] @ solved
    projection = np.asarray(weights.T @ duals)
    return projection.astype(np.float32), mean.astype(np.float32), (known + mean).astype(np.float32)


def _gram(weights: sparse.csr_array) -> Float[Tensor, "row row"]:
    return torch.from_numpy((weights @ weights.T).toarray().astype(np.float64))


def _choose_penalty(weights: sparse.csr_array, centred: Targets) -> float:
    """The penalty with the least squared error of leave-one-out predictions, of some rows."""
    some = np.linspace(0, len(centred) - 1, min(len(centred), MAX_CHOICE)).round().astype(int)
    truth = torch.from_numpy(centred[some])
    values, vectors = torch.linalg.eigh(_gram(sparse.csr_array(weights[some])))
    values, rotated = values.clamp(min=0), vectors.T @ truth
    errors = []
    for penalty in PENALTIES:
        inverse = 1 / (values + penalty)
        dual, diagonal = vectors @ (inverse[:, None] * rotated), vectors.square() @ inverse
        errors.append((dual / diagonal[:, None]).square().mean().item())
    return PENALTIES[int(np.argmin(errors))]


def _leave_one_out(gram: Tensor, centred: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """The dual coefficients, and the prediction of each row by the others (Golub et al., 1979)."""
    gram = gram + penalty * torch.eye(len(gram), dtype=gram.dtype)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    dual = inverse @ centred
    return dual, centred - dual / inverse.diagonal()[:, None]


def _folds(centred: Targets) -> Int[np.ndarray, " row"]:
    """The fold of each row; targets are spread evenly."""
    order = np.random.default_rng(0).permutation(len(centred))
    order = order[np.argsort(centred[order] @ np.arange(1.0, centred.shape[1] + 1), kind="stable")]
    fold = np.empty(len(order), dtype=int)
    fold[order] = np.arange(len(order)) % FOLDS
    return fold


def solve(weights: sparse.csr_array, centred: Targets, penalty: float) -> Float[np.ndarray, "row score"]:
    """Dual coefficients of ridge regression, by conjugate gradients, of all targets at once."""
    solution = np.zeros_like(centred)
    residual, direction = centred.copy(), centred.copy()
    energy = (residual**2).sum(0)
    for _ in range(ITERATIONS):
        applied = weights @ (weights.T @ direction) + penalty * direction
        step = energy / np.maximum((direction * applied).sum(0), 1e-30)
        solution += step * direction
        residual -= step * applied
        before, energy = energy, (residual**2).sum(0)
        if (energy <= 1e-12 * len(centred)).all():
            break
        direction = residual + energy / np.maximum(before, 1e-30) * direction
    return solution
