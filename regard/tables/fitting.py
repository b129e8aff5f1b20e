"""From a table with a target to a run folder: a score on rows held out, then a model of all rows."""

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from regard.core.errors import ConfigError
from regard.tables.estimator import Mode, NPTClassifier, NPTRegressor
from regard.tables.problem import Problem
from regard.tables.scores import score

HELD_OUT = 0.2
FEWEST_TO_SCORE = 20  # rows: of fewer, a score would be chance
FOR_THE_SCORE = 0.3  # of the time limit


@dataclass(frozen=True)
class Way:
    """How a table is to be learned."""

    mode: Mode = "auto"
    time_limit: float = 60.0
    seed: int = 0
    kinds: dict[str, str] | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.time_limit < math.inf:
            raise ConfigError(f"time_limit: must be more than 0 seconds, not {self.time_limit}")
        if not 0 <= self.seed < 2**32:
            raise ConfigError(f"seed: must be at least 0 and below 2**32, not {self.seed}")

    def estimator(self, problem: Problem) -> NPTClassifier | NPTRegressor:
        kind = NPTClassifier if problem.classifies else NPTRegressor
        kinds = self.kinds_of(problem) or None
        return kind(
            mode=self.mode, time_limit=self.time_limit, random_state=self.seed, kinds=kinds, weights=self.weights
        )

    def kinds_of(self, problem: Problem) -> dict[str, str]:
        """Of the columns that it is told from."""
        return {name: kind for name, kind in (self.kinds or {}).items() if name != problem.target.name}


def fit_table(
    problem: Problem, way: Way, say: Callable[[str], None] = lambda line: None
) -> tuple[NPTClassifier | NPTRegressor, dict[str, float]]:
    """A model of all rows, and what one of most rows scored on the rest."""
    began = time.monotonic()
    scores: dict[str, float] = {}
    if len(problem.target) >= FEWEST_TO_SCORE:
        learned, held_out = _split(problem, way.seed)
        say(f"learning {len(learned):,} rows, to be measured by {len(held_out):,} others")
        brief = replace(way, time_limit=FOR_THE_SCORE * way.time_limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the score says it, and what learns all rows says the rest
            estimator = brief.estimator(problem).fit(problem.features.iloc[learned], problem.target.iloc[learned])
        scores = score(estimator, problem.features.iloc[held_out], problem.target.iloc[held_out])
        if not _learned(scores, problem, learned, held_out):
            usual = "the shares of the classes" if problem.classifies else "the mean of all rows"
            say(f"note: the rows held out are told no better than by {usual}; more rows or --time-limit may help")
    left = way.time_limit - (time.monotonic() - began)
    say(f"learning all {len(problem.target):,} rows ({way.mode})")
    final = replace(way, time_limit=max(left, 0.01 * way.time_limit)).estimator(problem)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ConvergenceWarning)
        final.fit(problem.features, problem.target)
    for warning in warned:
        say(f"note: {warning.message}")
    final.set_params(time_limit=way.time_limit)
    final.rows_ = final.rows_.new_tensor(problem.rows)[final.rows_]  # as the file counts them
    return final, scores


def _split(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn and rows held out, each class in both where it can be."""
    counts, asked = problem.target.value_counts(), int(HELD_OUT * len(problem.target))
    spread = problem.classifies and counts.min() >= 2 and asked >= len(counts)
    kind = StratifiedShuffleSplit if spread else ShuffleSplit
    return next(kind(1, test_size=asked, random_state=seed).split(problem.features, problem.target))


def _learned(scores: Mapping[str, float], problem: Problem, learned: np.ndarray, held_out: np.ndarray) -> bool:
    """Whether anything was learned of the rows held out beyond what could be told without looking at them."""
    if not problem.classifies:
        return scores.get("r2", 1.0) > 0
    shares = problem.target.iloc[learned].value_counts(normalize=True)
    guessed = -np.log(problem.target.iloc[held_out].map(shares).dropna()).mean()
    return bool(scores.get("log_loss", 0.0) < guessed)
