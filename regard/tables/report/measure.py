"""Measuring a fitted estimator for a report: one target after another, on rows that its predictors have not seen."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from regard.core.errors import ConfigError
from regard.core.version import VERSION
from regard.tables.costs import read_cost
from regard.tables.encode.cells import read_codes, read_numbers
from regard.tables.encode.frames import as_frame
from regard.tables.rare_class import is_rare, rare_class
from regard.tables.report.accuracy import metrics_of, score_models
from regard.tables.report.baselines import predict_baselines
from regard.tables.report.calibration import coverage, reliability
from regard.tables.report.dependence import measure_dependence
from regard.tables.report.direction import Outputs
from regard.tables.report.held_out import (
    MAX_HELD_OUT,
    MIN_ROWS,
    Division,
    HeldOutRows,
    divide,
    divided_rows,
    file_rows,
    fold_seconds,
)
from regard.tables.report.importance import measure_importance
from regard.tables.report.influence import measure_influence
from regard.tables.report.mistakes import confusion, detection, residuals
from regard.tables.report.next_steps import Origin, next_steps
from regard.tables.report.results import Coverage, Detection, Reliability, Results, TargetResults, Training
from regard.tables.report.warnings import column_warnings, score_warnings
from regard.tables.splits import sample
from regard.tables.threads import threads

Estimator = Any  # fitted
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TestTable:
    """A table of rows that the estimator has not seen, with the targets."""

    name: str
    features: pd.DataFrame
    targets: Sequence[pd.Series]


def measure(estimator: Estimator, origin: Origin, test: TestTable | None = None) -> Results:
    """Everything that a report shows; `test` is another table, otherwise some of the training rows are held out."""
    began = time.monotonic()
    rows, held_out, how, unsplit = _held_out_rows(estimator, origin, test)
    targets, notes = [], [*column_warnings(estimator), *unsplit]
    for number, each in enumerate(rows):
        labels = _labels(estimator, number)
        with threads(estimator.n_jobs):
            targets.append(_measure_target(estimator, number, each, labels, origin))
            logger.info("report: leaks, repeated rows and time")
            prefix = f"{targets[-1].name}: " if len(rows) > 1 else ""
            notes += [prefix + line for line in score_warnings(estimator, number, each, labels, how)]
    return Results(
        source=origin.name,
        date=date.today().isoformat(),
        version=VERSION,
        training=_training(estimator, [one.name for one in targets]),
        held_out=held_out,
        held_out_rows=len(rows[0].truth),
        how=how if test is None else "",
        targets=tuple(targets),
        warnings=tuple(dict.fromkeys(notes)),
        commands=next_steps(origin, estimator.mode, tuple(targets)),
        seconds=time.monotonic() - began,
    )


def _held_out_rows(
    estimator: Estimator, origin: Origin, test: TestTable | None
) -> tuple[list[HeldOutRows], str, str, list[str]]:
    """The held-out rows of each target, which they are, how they differ from rows drawn at random, and warnings."""
    count = len(estimator.tables_)
    if test is None:
        division, notes = _division(estimator, origin)
        held_out = division.describe(estimator.rows_.unique().numel(), fold_seconds(estimator, len(division.train)))
        rows = [divided_rows(estimator, number, division) for number in range(count)]
        return rows, held_out, division.how, notes
    frame = as_frame(test.features)
    known = np.logical_and.reduce([target.notna().to_numpy() for target in test.targets])
    if not known.any():
        raise ConfigError(f"{test.name}: no row has a target, so there is nothing to compare predictions with")
    chosen = sample(np.flatnonzero(known), MAX_HELD_OUT)
    values = estimator._encode(frame.iloc[chosen])
    some = "the" if len(chosen) == known.sum() else f"a sample of {len(chosen):,} of the"
    rows = [_file_rows(estimator, number, values, target.iloc[chosen]) for number, target in enumerate(test.targets)]
    held_out = f"{some} {known.sum():,} rows of {test.name}, predicted by the model fitted to all training rows"
    return rows, held_out, f"those of {test.name}", []


def _division(estimator: Estimator, origin: Origin) -> tuple[Division, list[str]]:
    """Rows held out as `fit` did; at random, with a warning, if the run cannot tell how."""
    try:
        return divide(estimator, *origin.options.split_by), []
    except ConfigError as error:
        if origin.split is None or len(estimator.rows_.unique()) < MIN_ROWS:
            raise
        return divide(estimator), [
            f"fit held out rows by {origin.split}, which is impossible here ({error}); they are held out at random, "
            "which may flatter the scores"
        ]


def _file_rows(estimator: Estimator, number: int, values: Float[Tensor, "row cell"], target: pd.Series) -> HeldOutRows:
    if not estimator.tables_[number].classes:
        return file_rows(estimator, number, values, read_numbers(target))
    codes = read_codes(target, _labels(estimator, number).tolist()).astype(int)
    return file_rows(estimator, number, values, codes)


def _labels(estimator: Estimator, number: int) -> np.ndarray:
    """The classes of a target; none of a number."""
    if not estimator.tables_[number].classes:
        return np.empty(0)
    return np.asarray(estimator.classes_[number] if estimator.multi_output_ else estimator.classes_)


def _measure_target(
    estimator: Estimator, number: int, rows: HeldOutRows, labels: np.ndarray, origin: Origin
) -> TargetResults:
    name = estimator.target_names_[number] or (f"target {number}" if estimator.multi_output_ else "target")
    names, seed = tuple(map(str, labels)), estimator.seed_
    logger.info("report: predicting %s held-out rows of %r", f"{len(rows.truth):,}", name)
    predicted = rows.predict()
    models = {f"regard ({estimator.mode})": predicted, **predict_baselines(rows)}
    scores = score_models(rows.truth, models, rows.classes, seed)
    rare = rare_class(estimator, number)
    outputs = _outputs(estimator, number, name, names, rare)
    logger.info("report: importances of columns")
    importance = measure_importance(rows, estimator.columns_, outputs, seed)
    order = [one.name for one in importance.columns]
    logger.info("report: partial dependence and deciding rows")
    known = estimator.tables_[number].values.numpy()
    return TargetResults(
        name=name,
        classes=names,
        metrics=metrics_of(rows.truth, rows.classes),
        models=scores,
        calibration=_calibration(rows, predicted, names, rare),
        mistakes=confusion(rows.truth, predicted, names) if names else residuals(rows.truth, predicted[:, 0]),
        detection=_detection(estimator, number, rows, predicted, origin),
        importance=importance,
        dependence=measure_dependence(rows, estimator.columns_, known, order, outputs),
        influence=measure_influence(estimator, number, rows, labels, order),
    )


def _detection(
    estimator: Estimator, number: int, rows: HeldOutRows, predicted: np.ndarray, origin: Origin
) -> Detection | None:
    """Of a rare class, and of any of two classes whose errors have a cost."""
    chosen, rare = rare_class(estimator, number), is_rare(estimator, number)
    cost = read_cost(origin.options.cost) if origin.options.cost else None
    if chosen is None or not (rare or cost):
        return None
    name = str(_labels(estimator, number)[chosen])
    measured = detection(rows.truth == chosen, predicted[:, chosen], name, origin.threshold, cost)
    return None if measured is None else replace(measured, rare=rare)


def _outputs(estimator: Estimator, number: int, name: str, names: tuple[str, ...], rare: int | None) -> Outputs:
    """What importances and curves are about; classes by their frequency."""
    if not names:
        return Outputs((0,), (name,))
    if rare is not None:
        return Outputs((rare,), (names[rare],))
    counts = np.bincount(estimator.tables_[number].target.numpy().astype(int), minlength=len(names))
    order = tuple(np.argsort(-counts, kind="stable").tolist())
    return Outputs(order, tuple(names[place] for place in order))


def _calibration(
    rows: HeldOutRows, predicted: np.ndarray, names: tuple[str, ...], rare: int | None
) -> Reliability | Coverage | None:
    if not names:
        return coverage(rows.truth, predicted)
    if rare is not None:
        return reliability(f"{names[rare]!r}", rows.truth == rare, predicted[:, rare])
    right = predicted.argmax(1) == rows.truth
    return reliability("the predicted class", right, predicted.max(1))


def _training(estimator: Estimator, names: Sequence[str]) -> Training:
    columns = estimator.columns_
    first = [positions[0] for positions in columns.positions()]
    kinds = [f"{table.classes:,} classes" if table.classes else "a number" for table in estimator.tables_]
    return Training(
        rows=estimator.rows_.unique().numel(),
        columns=tuple(columns.table()),
        missing=float(estimator.tables_[0].values[:, first].isnan().double().mean()),
        mode=estimator.mode,
        targets=tuple(f"{name} ({kind})" for name, kind in zip(names, kinds, strict=True)),
    )
