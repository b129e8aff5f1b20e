"""Comparison with baselines on one table: the same folds, one metric, and the seconds of each."""

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import KFold, StratifiedKFold

from regard.core.errors import ConfigError
from regard.tables.baselines import Baseline, installed_baselines
from regard.tables.encode.cells import Cells
from regard.tables.encode.columns import Columns
from regard.tables.encode.target import Classes
from regard.tables.encode.text_scores import score_targets
from regard.tables.fit_settings import FitSettings
from regard.tables.problem import Problem
from regard.tables.progress import within
from regard.tables.scores import class_scores, number_scores
from regard.tables.splits import check_split, group_folds, time_folds, times_in_seconds

Fold = tuple[np.ndarray, np.ndarray]
FoldPredictions = Callable[[Fold], np.ndarray]  # predictions for the test rows of a fold

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelScore:
    name: str
    mean: float  # of the metric over folds
    std: float
    seconds: float  # per fold, to fit and predict
    error: str = ""  # if the model failed

    def as_dict(self, metric: str) -> dict[str, Any]:
        if self.error:
            return {"error": self.error}
        return {metric: self.mean, "std": self.std, "seconds": self.seconds}


def comparison_table(metric: str, scores: Sequence[ModelScore]) -> pd.DataFrame:
    """A row for each model."""
    return pd.DataFrame([{"model": one.name, **one.as_dict(metric)} for one in scores])


def compare(
    problem: Problem,
    settings: FitSettings,
    folds: int,
    baselines: Mapping[str, Baseline] | None = None,
    progress: Callable[[str], None] = logger.info,
) -> tuple[str, list[ModelScore]]:
    """The metric and the score of every model, the best first; `baselines` are by default all that are installed."""
    check_split(problem, settings)
    features = problem.features.drop(columns=[settings.group] if settings.group is not None else [])
    Columns.describe(features, settings.feature_kinds(problem))  # refuse wrong kinds before the first fit
    if not 2 <= folds <= len(problem.target):
        raise ConfigError(f"--folds: must be at least 2 and at most the {len(problem.target):,} rows, not {folds}")
    truth = problem.target.to_numpy()
    codes = Classes.fit(truth)[1].long().numpy() if problem.classifies else truth
    splits = _folds(problem, codes, folds, settings)
    if settings.group is not None:
        problem = problem.without(settings.group)
    metric = _metric(codes, splits) if problem.classifies else "rmse"
    scores = []
    baselines = installed_baselines() if baselines is None else baselines
    for name, predict in _models(problem, codes, settings, baselines):
        progress(f"{name} …")
        scores.append(_score(name, predict, metric, codes, splits))
    best_first = 1 if metric == "rmse" else -1
    return metric, sorted(scores, key=lambda one: (bool(one.error), best_first * one.mean))


def _folds(problem: Problem, codes: np.ndarray, folds: int, settings: FitSettings) -> list[Fold]:
    """Of rows at random, of whole groups, or of later rows that are predicted from all before."""
    if settings.time is not None or settings.group is not None:
        if settings.time is not None:
            splits = time_folds(times_in_seconds(problem.features[settings.time]), settings.time, folds)
        else:
            classes = codes if problem.classifies else np.zeros(len(codes))
            splits = group_folds(classes, problem.features[settings.group], folds, settings.seed)
        if len(splits) < folds:
            raise ConfigError(f"--folds {folds}: the groups or times are enough for {len(splits)}")
        return splits
    stratify = problem.classifies and np.bincount(codes).min() >= folds
    kind = StratifiedKFold if stratify else KFold
    return list(kind(folds, shuffle=True, random_state=settings.seed).split(codes, codes))


def _metric(codes: np.ndarray, splits: list[Fold]) -> str:
    """AUC, unless the test rows of some fold are all of one class."""
    return "auc" if all(len(np.unique(codes[test])) > 1 for _, test in splits) else "accuracy"


def _models(
    problem: Problem, codes: np.ndarray, settings: FitSettings, baselines: Mapping[str, Baseline]
) -> Iterator[tuple[str, FoldPredictions]]:
    for mode in dict.fromkeys(("in_context", settings.mode)):
        yield f"regard {mode}", _npt(problem, replace(settings, mode=mode))
    for name, baseline in baselines.items():
        yield name, _baseline(problem, codes, baseline, settings)


def _npt(problem: Problem, settings: FitSettings) -> FoldPredictions:
    labels = np.unique(problem.target) if problem.classifies else np.empty(0)

    def predict(fold: Fold) -> np.ndarray:
        train, test = fold
        model = settings.estimator(problem).fit(problem.features.iloc[train], problem.target.iloc[train])
        features = problem.features.iloc[test]
        if not problem.classifies:
            return np.asarray(model.predict(features))
        return _all_classes(model.predict_proba(features), np.searchsorted(labels, model.classes_), len(labels))

    return predict


def _baseline(problem: Problem, codes: np.ndarray, baseline: Baseline, settings: FitSettings) -> FoldPredictions:
    def predict(fold: Fold) -> np.ndarray:
        train = fold[0]
        known = torch.from_numpy(np.asarray(codes[train], dtype=np.float64))
        texts = score_targets([(known, int(codes.max()) + 1 if problem.classifies else 0)], torch.arange(len(train)))
        features, kinds = problem.features, settings.feature_kinds(problem)
        columns, cells = Columns.fit_encode(features.iloc[train], kinds, texts)
        test = columns.encode(features.iloc[fold[1]])
        filled = ~np.isnan(cells.values).all(0)  # some baselines refuse empty columns
        cells = Cells(cells.values[:, filled], cells.category[filled], tuple(np.array(cells.names)[filled]))
        model, rows = baseline(cells, problem.classifies, settings.seed), test.values[:, filled]
        if not problem.classifies:
            return np.asarray(model.fit(cells.values, codes[train]).predict(rows), dtype=np.float64)
        seen, target = np.unique(codes[train], return_inverse=True)
        probabilities = model.fit(cells.values, target).predict_proba(rows)
        return _all_classes(probabilities, seen, int(codes.max()) + 1)

    return predict


def _all_classes(probabilities: np.ndarray, places: np.ndarray, classes: int) -> np.ndarray:
    """Probabilities of all classes: 0 for those without training rows."""
    padded = np.zeros((len(probabilities), classes))
    padded[:, places] = probabilities
    return padded


def _score(name: str, predict: FoldPredictions, metric: str, codes: np.ndarray, splits: list[Fold]) -> ModelScore:
    scores, began = [], time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, fold in enumerate(splits):
                with within(f"{name}, fold {number + 1} of {len(splits)}"):
                    predicted, truth = predict(fold), codes[fold[1]]
                each = number_scores(truth, predicted) if metric == "rmse" else class_scores(truth, predicted)
                scores.append(each[metric])
    except Exception as error:  # a failing model is a result; the others go on
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return ModelScore(name, float("nan"), float("nan"), 0.0, message[:120])
    seconds = (time.monotonic() - began) / len(splits)
    return ModelScore(name, float(np.mean(scores)), float(np.std(scores)), seconds)
