"""How an estimator is fitted to a problem."""

import math
from dataclasses import dataclass

from regard.core.errors import ConfigError
from regard.tables.costs import Cost
from regard.tables.encode.keys import IGNORE
from regard.tables.estimators.base import Mode
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.problem import Problem


@dataclass(frozen=True)
class FitSettings:
    """How an estimator is fitted."""

    mode: Mode = "auto"
    time_limit: float = 60.0
    seed: int = 0
    kinds: dict[str, str] | None = None
    weights: str | None = None
    time: str | None = None  # column of dates or numbers: the last rows are held out for the score
    group: str | None = None  # column: rows with the same cell are held out together
    cost: Cost | None = None  # of errors, for which a threshold is proposed

    def __post_init__(self) -> None:
        if not 0 < self.time_limit < math.inf:
            raise ConfigError(f"time_limit: must be more than 0 seconds, not {self.time_limit}")
        if not 0 <= self.seed < 2**32:
            raise ConfigError(f"seed: must be at least 0 and below 2**32, not {self.seed}")
        if self.time is not None and self.group is not None:
            raise ConfigError("--time and --group: rows are held out by one of them")

    def estimator(self, problem: Problem) -> NPTClassifier | NPTRegressor:
        kind = NPTClassifier if problem.classifies else NPTRegressor
        kinds = self.feature_kinds(problem) or None
        return kind(
            mode=self.mode, time_limit=self.time_limit, random_state=self.seed, kinds=kinds, weights=self.weights
        )

    def estimator_with_keys(self, problem: Problem) -> NPTClassifier | NPTRegressor:
        """The same, of the features beside the ignored columns, which its evidence shows."""
        kinds = {**self.feature_kinds(problem), **dict.fromkeys(problem.ignored, IGNORE)}
        return self.estimator(problem).set_params(kinds=kinds or None)

    def feature_kinds(self, *problems: Problem) -> dict[str, str]:
        """`kinds` without those of the targets."""
        targets = [problem.target.name for problem in problems]
        return {name: kind for name, kind in (self.kinds or {}).items() if name not in targets}
