"""Everything that a report shows, as plain numbers and texts: measured once, then drawn."""

from dataclasses import dataclass
from typing import Any

Cell = Any  # of a table: a text, a number, a date, or None where it is missing


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ModelScores:
    name: str
    scores: dict[str, Interval]  # by metric
    lead: Interval | None = None  # how much better the first model is by the main metric, on the same rows
    error: str = ""  # if the model failed


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows with a similar predicted probability."""

    predicted: float  # mean probability
    observed: Interval  # fraction of the rows in which the event occurred
    rows: int


@dataclass(frozen=True)
class Reliability:
    event: str  # what the probability is of
    bins: tuple[ReliabilityBin, ...]
    error: float  # expected calibration error: the mean distance of the bins from the diagonal, weighted by rows


@dataclass(frozen=True)
class IntervalCoverage:
    nominal: float  # probability with which a number should lie in the interval
    covered: Interval  # fraction of held-out numbers that do
    width: float  # mean


@dataclass(frozen=True)
class Coverage:
    levels: tuple[float, ...]  # of quantiles
    below: tuple[float, ...]  # fraction of held-out numbers below each
    intervals: tuple[IntervalCoverage, ...]


@dataclass(frozen=True)
class Residuals:
    predicted: tuple[float, ...]
    residual: tuple[float, ...]  # true minus predicted
    rows: int  # of which these are a sample


@dataclass(frozen=True)
class Confusion:
    labels: tuple[str, ...]  # true and predicted classes; the last may be "unseen"
    counts: tuple[tuple[int, ...], ...]  # by true class, then predicted class
    mistakes: tuple[tuple[str, str, int], ...]  # the most frequent ones: true, predicted, rows


@dataclass(frozen=True)
class Detection:
    """How the rare one of two classes is detected."""

    label: str
    frequency: float  # among held-out rows
    recall: tuple[float, ...]  # of the corners of the precision–recall curve
    precision: tuple[float, ...]
    average_precision: float
    threshold: float  # proposed by `fit`, or with the largest F1 here
    scores: dict[str, dict[str, float]]  # precision, recall and F1 by threshold: "0.5" and the proposed one
    chosen_here: bool = True  # whether the threshold was chosen on these rows
    rare: bool = True
    cost: str = ""  # FALSE_ALARM:MISS, for which the threshold is; or else it is for F1


@dataclass(frozen=True)
class ColumnImportance:
    name: str
    kind: str
    loss: Interval  # by which the loss grows if the column is shuffled
    direction: str  # how the prediction moves with the cells


@dataclass(frozen=True)
class Importance:
    metric: str  # the loss that grows
    columns: tuple[ColumnImportance, ...]  # the largest first
    unmeasured: int  # columns that hardly move predictions and were not measured further
    rows: int
    repeats: int


@dataclass(frozen=True)
class Dependence:
    """The average prediction if all rows had the same cell in one column."""

    name: str
    kind: str
    cells: tuple[Cell, ...]
    curves: tuple[tuple[str, tuple[float, ...]], ...]  # name of the output, and its average for each cell
    rug: tuple[float, ...]  # deciles of the column; none of a category
    counts: tuple[int, ...]  # training rows with each category
    rows: int  # averaged over


@dataclass(frozen=True)
class DecidingRow:
    row: int  # in the training data, counted from 0
    weight: float  # mean over held-out rows
    target: Cell
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Influence:
    columns: tuple[str, ...]
    rows: tuple[DecidingRow, ...]
    uniform: float  # the weight that all rows would have if none stood out
    held_out: int  # rows whose evidence was averaged
    attends_to_labels: bool
    identifiers: tuple[str, ...] = ()  # features that look like them


@dataclass(frozen=True)
class TargetResults:
    name: str
    classes: tuple[str, ...]  # none: a number
    metrics: tuple[str, ...]  # the main one first
    models: tuple[ModelScores, ...]  # the estimator first, then the constant baseline, then the others
    calibration: Reliability | Coverage | None
    mistakes: Residuals | Confusion
    detection: Detection | None
    importance: Importance
    dependence: tuple[Dependence, ...]
    influence: Influence


@dataclass(frozen=True)
class Training:
    """What was learned from."""

    rows: int
    columns: tuple[tuple[str, str, str, str], ...]  # name, kind, fraction of filled cells, summary
    missing: float  # fraction of all cells
    mode: str
    targets: tuple[str, ...]  # each with its kind


@dataclass(frozen=True)
class Results:
    source: str  # the run, or the estimator
    date: str
    version: str
    training: Training
    held_out: str  # which rows these are, and by which model they were predicted
    held_out_rows: int
    how: str  # they were held out, if not at random
    targets: tuple[TargetResults, ...]
    warnings: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]  # what to do next, and how
    seconds: float
