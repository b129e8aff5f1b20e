"""Fitting the n-gram classifier: logistic regression whose penalty is chosen by cross-validation, then calibrated.

The penalty may be lighter on n-grams that are frequent with one label and rare with another, which naive Bayes would
go by (Wang & Manning, 2012). How much lighter is chosen by cross-validation too: with few texts often not at all.

Probabilities are calibrated on predictions of the training texts by models that have not seen them; of texts that
repeat, all are left out together.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, Int64
from scipy import sparse
from torch import Tensor

from regard.tasks.classify.ngram_model import Features, NgramModel, Ngrams

PENALTIES = (1.0, 4.0, 16.0, 64.0)  # C of scikit-learn: the inverse of the ridge penalty
MIN_TEXTS = (1, 2)  # texts that an n-gram must occur in
BAYES = (0.0, 0.5)  # powers of the log-odds of an n-gram that its weight is multiplied with before it is penalised
CHOICE_FOLDS, FOLDS = 3, 5
PASS = 4096  # texts counted at a time
MAX_CHOICE = 3000  # texts that the penalty is chosen by
MAX_CHARACTERS = 12_000_000  # of the texts that are learned from: minutes, and a gigabyte
MAX_WEIGHTS = 30_000_000  # features times labels
MAX_WORK = 400_000_000  # non-zero features times labels of one fit
FAR = 5.0  # below the lowest score: labels that a fold has no text of

Labels = Int64[np.ndarray, " _"]


@dataclass(frozen=True)
class Hyperparameters:
    """What cross-validation chose, and the calibration on held-out texts."""

    min_texts: int
    bayes: float
    penalty: float
    scale: float = 1.0  # of the scores, so that probabilities are calibrated
    shift: tuple[float, ...] = ()


@dataclass(frozen=True)
class Fitted:
    model: NgramModel
    hyperparameters: Hyperparameters


def fit_ngrams(texts: Sequence[str], labels: Labels, count: int, settings: Ngrams) -> Fitted:
    """Fit on the texts, or on a random part of them that takes minutes at most."""
    counts = _count(texts, settings)
    known = _learned_from(texts, labels, counts, count)
    some, truth = counts[known], labels[known]
    groups = groups_of([texts[row] for row in known])
    chosen = _choose(some, truth, groups, settings, count)
    weights = features_of(some, chosen.min_texts, settings, count).weights(some)
    scores = torch.empty(len(known), count)
    for train, rest in _folds(truth, groups, FOLDS):
        weight, bias = _logistic(weights[train], truth[train], count, chosen)
        scores[rest] = torch.from_numpy(weights[rest] @ weight + bias).float()
    scale, shift = calibrate(scores, torch.from_numpy(truth))
    calibrated = replace(chosen, scale=scale, shift=tuple(shift.tolist()))
    return Fitted(_fit(some, truth, count, settings, calibrated), calibrated)


def refit_ngrams(
    texts: Sequence[str], labels: Labels, count: int, settings: Ngrams, chosen: Hyperparameters
) -> NgramModel:
    """The model of more texts, with what cross-validation chose before."""
    counts = _count(texts, settings)
    known = _learned_from(texts, labels, counts, count)
    return _fit(counts[known], labels[known], count, settings, chosen)


def groups_of(texts: Sequence[str]) -> Labels:
    """A number for each text, the same for texts that repeat.

    The texts stay objects: an array of strings would pad each to the longest, at four bytes a character.
    """
    return np.unique(np.array(texts, dtype=object), return_inverse=True)[1]


def _count(texts: Sequence[str], settings: Ngrams) -> sparse.csr_array:
    parts = [settings.count(texts[first : first + PASS]) for first in range(0, len(texts), PASS)]
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _fit(counts: sparse.csr_array, labels: Labels, count: int, settings: Ngrams, chosen: Hyperparameters) -> NgramModel:
    features = features_of(counts, chosen.min_texts, settings, count)
    weight, bias = _logistic(features.weights(counts), labels, count, chosen)
    bias = chosen.scale * bias + np.array(chosen.shift, np.float32)
    return NgramModel(settings, features, (chosen.scale * weight).astype(np.float32), bias.astype(np.float32))


def features_of(counts: sparse.csr_array, min_texts: int, settings: Ngrams, count: int) -> Features:
    """The n-grams that occur in enough texts, the most frequent ones if they are too many."""
    frequency = np.bincount(counts.indices, minlength=2 << settings.bits)
    most = max(1, min(settings.max_features, MAX_WEIGHTS // count))
    frequent = np.argsort(-frequency, kind="stable")[:most]
    buckets = np.sort(frequent[frequency[frequent] >= min_texts])
    idf = np.log((1 + counts.shape[0]) / (1 + frequency[buckets])) + 1
    return Features(buckets.astype(np.int64), idf.astype(np.float32), settings.bits)


def calibrate(scores: Float[Tensor, "text label"], labels: Tensor) -> tuple[float, Float[Tensor, " label"]]:
    """A scale of the scores and a shift of each label, by the likelihood of texts not seen in training (Platt, 1999).

    A penalty of one nat keeps both near one and zero where there are few texts.
    """
    log_scale = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    shift = torch.zeros(scores.shape[1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([log_scale, shift], max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = F.cross_entropy(log_scale.exp() * scores.double() + shift, labels, reduction="sum")
        loss = loss + log_scale.square().sum() + shift.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return float(log_scale.detach().exp()), (shift - shift.mean()).detach().float()


def _learned_from(texts: Sequence[str], labels: Labels, counts: sparse.csr_array, count: int) -> Labels:
    """The rows to learn from: all, or a random part; the first text of each label is always among them."""
    order = np.random.default_rng(0).permutation(len(texts))
    size = np.cumsum([min(len(texts[row]), MAX_CHARACTERS) for row in order])
    work = np.cumsum(np.diff(counts.indptr)[order]) * count
    enough = (size <= MAX_CHARACTERS) & (work <= MAX_WORK)
    _, first = np.unique(labels[order], return_index=True)
    enough[first] = True
    return np.sort(order[enough])


def _choose(counts: sparse.csr_array, labels: Labels, groups: Labels, settings: Ngrams, count: int) -> Hyperparameters:
    """The setting whose calibrated predictions of held-out texts are most probable."""
    rows = np.random.default_rng(1).permutation(len(labels))[:MAX_CHOICE]
    counts, labels, groups = counts[rows], labels[rows], groups[rows]
    truth, losses = torch.from_numpy(labels), {}
    for min_texts in MIN_TEXTS:
        weights = features_of(counts, min_texts, settings, count).weights(counts)
        if not weights.shape[1]:
            continue
        for bayes in BAYES:
            scores = {penalty: torch.empty(len(labels), count) for penalty in PENALTIES}
            for train, rest in _folds(labels, groups, CHOICE_FOLDS):
                path = _path(weights[train], labels[train], count, bayes, PENALTIES)
                for penalty, (weight, bias) in zip(PENALTIES, path, strict=True):
                    scores[penalty][rest] = torch.from_numpy(weights[rest] @ weight + bias).float()
            for penalty, some in scores.items():
                scale, shift = calibrate(some, truth)
                losses[min_texts, bayes, penalty] = F.cross_entropy(scale * some + shift, truth).item()
    best = min(losses, key=lambda setting: losses[setting]) if losses else (1, 0.0, PENALTIES[0])
    return Hyperparameters(*best)


def _folds(labels: Labels, groups: Labels, folds: int) -> Iterator[tuple[Labels, Labels]]:
    """Rows to learn from and rows to predict: labels are spread evenly, and texts that repeat stay together."""
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    order = np.random.default_rng(2).permutation(len(first))
    order = order[np.argsort(labels[first][order], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[order] = np.arange(len(first)) % folds
    for number in range(min(folds, len(first))):
        yield np.flatnonzero(fold[group] != number), np.flatnonzero(fold[group] == number)


def log_odds(weights: sparse.csr_array, labels: Labels, count: int) -> Float32[np.ndarray, " feature"]:
    """How far the frequency of each n-gram in the texts of a label is from that in the others, over all labels."""
    row_labels = np.repeat(labels, np.diff(weights.indptr))
    total, squares = np.bincount(weights.indices, minlength=weights.shape[1]), np.zeros(weights.shape[1])
    for label in range(count):
        held = np.bincount(weights.indices[row_labels == label], minlength=weights.shape[1])
        with_label, without = held + 1.0, total - held + 1.0
        squares += np.square(np.log(with_label / with_label.sum()) - np.log(without / without.sum()))
    return np.sqrt(squares / count).astype(np.float32)


def _logistic(
    weights: sparse.csr_array, labels: Labels, count: int, chosen: Hyperparameters
) -> tuple[np.ndarray, np.ndarray]:
    [solution] = _path(weights, labels, count, chosen.bayes, (chosen.penalty,))
    return solution


def _path(
    weights: sparse.csr_array, labels: Labels, count: int, bayes: float, penalties: Sequence[float]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A weight and a bias for each label at each penalty, each started from the solution before it."""
    from sklearn.linear_model import LogisticRegression

    present = np.unique(labels)
    weight, bias = np.zeros((weights.shape[1], count)), np.zeros(count)
    if len(present) < 2 or not weights.shape[1]:
        frequency = np.bincount(labels, minlength=count)
        for _ in penalties:
            yield weight, np.log(frequency + 0.5)
        return
    freedom = log_odds(weights, labels, count) ** bayes
    scaled = sparse.csr_matrix(weights.multiply(freedom[None]))
    model = LogisticRegression(max_iter=100, tol=1e-4, warm_start=True)
    for penalty in penalties:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few texts for many labels; too few iterations for the last digits
            model.set_params(C=penalty).fit(scaled, labels)
        coefficients, intercept = model.coef_ * freedom, model.intercept_
        if len(present) == 2:  # one score for both labels
            coefficients = np.concatenate([-coefficients, coefficients]) / 2
            intercept = np.concatenate([-intercept, intercept]) / 2
        weight, bias = np.zeros((weights.shape[1], count)), np.full(count, intercept.min() - FAR)
        weight[:, present], bias[present] = coefficients.T, intercept
        yield weight, bias
