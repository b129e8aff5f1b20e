"""Baselines: what a simple method that takes seconds scores on the validation data of a run.

A score means little by itself. Each task whose folder has a `baseline.py` measures such a method when a run has ended;
the result is printed and kept beside the scores, and a run that ends behind it says so.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

log = logging.getLogger(__name__)

TIES = 1e-9  # differences that are rounding

Scores = Mapping[str, float]  # of a run, by name


@dataclass(frozen=True)
class Baseline:
    """The score of a simple method, on the data that the run is scored on."""

    method: str  # what it does, in a few words
    score: str  # the name of the score, one of those of the run
    value: float
    remedy: str  # what to do where the run ends behind it
    lower_is_better: bool = False

    def __str__(self) -> str:
        return f"{self.score} {self.value:.4f} by {self.method}"

    def ahead_of(self, scores: Scores) -> bool:
        """Whether the run scores worse; a run without a finite score does."""
        return not self._difference(scores) >= -TIES

    def lead(self, scores: Scores) -> str:
        """By how much a run that is not behind is ahead."""
        difference = self._difference(scores)
        return f"ahead by {difference:.4f}" if difference > TIES else "level"

    def _difference(self, scores: Scores) -> float:
        run = scores.get(self.score, math.nan)
        return self.value - run if self.lower_is_better else run - self.value


Measure = Callable[[], Baseline | None]  # None: nothing to compare with


def no_baseline() -> None:
    """Of tasks without a simple method, and of runs that are not scored."""


def measure_baseline(measure: Measure, scores: Scores) -> Baseline | None:
    """Measure the baseline of a run with these scores, and say which of the two is ahead."""
    start = time.perf_counter()
    baseline = measure()
    if baseline is None:
        return None
    line = f"baseline: {baseline}, in {time.perf_counter() - start:.1f} s"
    if baseline.ahead_of(scores):
        log.warning("%s: the run is behind it; %s", line, baseline.remedy)
    else:
        log.info("%s: the run is %s", line, baseline.lead(scores))
    return baseline
