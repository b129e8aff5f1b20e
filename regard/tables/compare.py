"""Our own estimators beside other models on one table: the same folds, one measure, and the seconds it took."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from regard.core.errors import ConfigError
from regard.tables.cells import Cells
from regard.tables.columns import Columns
from regard.tables.fitting import Way
from regard.tables.peers import Peer, peers
from regard.tables.problem import Problem
from regard.tables.scores import class_scores, number_scores
from regard.tables.target import Classes

Fold = tuple[np.ndarray, np.ndarray]
Answer = Callable[[Fold], np.ndarray]  # for the rows of a fold that are asked


@dataclass(frozen=True)
class Compared:
    name: str
    mean: float  # of the measure over folds
    spread: float  # its standard deviation
    seconds: float  # a fold, to fit and to predict
    error: str = ""  # why there is nothing to compare

    def as_dict(self, measure: str) -> dict[str, Any]:
        if self.error:
            return {"error": self.error}
        return {measure: self.mean, "spread": self.spread, "seconds": self.seconds}


def compare(
    problem: Problem,
    way: Way,
    folds: int,
    say: Callable[[str], None] = lambda line: None,
    others: Mapping[str, Peer] | None = None,
) -> tuple[str, list[Compared]]:
    """The measure, and every model's, the best first; without `others` ours stand beside all that are installed."""
    Columns.learn(problem.features, way.kinds_of(problem))  # wrong kinds are refused before the first model begins
    if not 2 <= folds <= len(problem.target):
        raise ConfigError(f"--folds: must be at least 2 and at most the {len(problem.target):,} rows, not {folds}")
    truth = problem.target.to_numpy()
    codes = Classes.learn(truth)[1].long().numpy() if problem.classifies else truth
    splits = list(_folds(problem, codes, folds, way.seed))
    measure = _measure(codes, splits) if problem.classifies else "rmse"
    found = []
    for name, answer in _models(problem, codes, way, peers() if others is None else others):
        say(f"{name} …")
        found.append(_compared(name, answer, measure, codes, splits))
    best_first = 1 if measure == "rmse" else -1
    return measure, sorted(found, key=lambda one: (bool(one.error), best_first * one.mean))


def _folds(problem: Problem, codes: np.ndarray, folds: int, seed: int) -> Iterator[Fold]:
    spread = problem.classifies and np.bincount(codes).min() >= folds
    kind = StratifiedKFold if spread else KFold
    return kind(folds, shuffle=True, random_state=seed).split(codes, codes)


def _measure(codes: np.ndarray, splits: list[Fold]) -> str:
    """AUC, unless some fold asks for rows of one class only."""
    return "auc" if all(len(np.unique(codes[asked])) > 1 for _, asked in splits) else "accuracy"


def _models(problem: Problem, codes: np.ndarray, way: Way, others: Mapping[str, Peer]) -> Iterator[tuple[str, Answer]]:
    for mode in dict.fromkeys(("in_context", way.mode)):
        yield f"NPT {mode}", _ours(problem, replace(way, mode=mode))
    for name, peer in others.items():
        yield name, _other(problem, codes, peer, way)


def _ours(problem: Problem, way: Way) -> Answer:
    labels = np.unique(problem.target) if problem.classifies else np.empty(0)

    def answer(fold: Fold) -> np.ndarray:
        learned, asked = fold
        model = way.estimator(problem).fit(problem.features.iloc[learned], problem.target.iloc[learned])
        features = problem.features.iloc[asked]
        if not problem.classifies:
            return np.asarray(model.predict(features))
        return _spread(model.predict_proba(features), np.searchsorted(labels, model.classes_), len(labels))

    return answer


def _other(problem: Problem, codes: np.ndarray, peer: Peer, way: Way) -> Answer:
    def answer(fold: Fold) -> np.ndarray:
        learned = fold[0]
        columns = Columns.learn(problem.features.iloc[learned], way.kinds_of(problem))
        cells, other = (columns.encode(problem.features.iloc[rows]) for rows in fold)
        filled = ~np.isnan(cells.values).all(0)  # some cannot take a column that holds nothing
        cells = Cells(cells.values[:, filled], cells.category[filled], tuple(np.array(cells.names)[filled]))
        model, rows = peer(cells, problem.classifies, way.seed), other.values[:, filled]
        if not problem.classifies:
            return np.asarray(model.fit(cells.values, codes[learned]).predict(rows), dtype=np.float64)
        seen, target = np.unique(codes[learned], return_inverse=True)
        chances = model.fit(cells.values, target).predict_proba(rows)
        return _spread(chances, seen, int(codes.max()) + 1)

    return answer


def _spread(chances: np.ndarray, places: np.ndarray, classes: int) -> np.ndarray:
    """Probabilities of all classes: nothing for those that were not among the rows learned from."""
    whole = np.zeros((len(chances), classes))
    whole[:, places] = chances
    return whole


def _compared(name: str, answer: Answer, measure: str, codes: np.ndarray, splits: list[Fold]) -> Compared:
    scores, began = [], time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for fold in splits:
                told, truth = answer(fold), codes[fold[1]]
                own = number_scores(truth, told) if measure == "rmse" else class_scores(truth, told)
                scores.append(own[measure])
    except Exception as error:  # a model that fails on a table is a result, and the others go on
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return Compared(name, float("nan"), float("nan"), 0.0, said[:120])
    seconds = (time.monotonic() - began) / len(splits)
    return Compared(name, float(np.mean(scores)), float(np.std(scores)), seconds)
