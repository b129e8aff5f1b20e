"""One method on one split of one table: fit, answer, score, with the seconds of each; an error is a result too."""

import os
import platform
import re
import time
import warnings
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .cells import Cell
from .files import Array, Table
from .methods import Method, Setup
from .scores import class_scores, number_scores

LONGEST_ERROR = 300  # characters


def measure(cell: Cell, method: Method, table: Table, split: tuple[Array, Array], limit: float) -> Cell:
    """The cell with what came out."""
    cell = replace(cell, versions=versions(method), machine=machine())
    if method.most_rows is not None and cell.train_rows > method.most_rows:
        return replace(cell, left_out=f"more than {method.most_rows} training rows")
    setup = Setup(table.task, tuple(table.texts), cell.seed, cell.threads, limit)
    try:
        with warnings.catch_warnings(), threadpool_limits(cell.threads):
            warnings.simplefilter("ignore")
            scores, fitting, answering = _scores(method, setup, table, split)
    except Exception as error:  # whatever a method does wrong is its own result, and the benchmark goes on
        return replace(cell, error=_said(error))
    return replace(cell, scores=scores, fit_seconds=round(fitting, 3), predict_seconds=round(answering, 3))


def _scores(
    method: Method, setup: Setup, table: Table, split: tuple[Array, Array]
) -> tuple[dict[str, float], float, float]:
    train, test = split
    learned, asked = (table.features.iloc[rows].reset_index(drop=True) for rows in split)
    known, truth = table.target[train], table.target[test]
    classes = np.unique(known)
    model = method.build(setup)  # before the clock starts: libraries are imported here
    began = time.perf_counter()
    model.fit(learned, np.searchsorted(classes, known) if setup.classifies else known)
    fitted = time.perf_counter()
    answers = np.asarray(model.predict_proba(asked) if setup.classifies else model.predict(asked), dtype=float)
    ended = time.perf_counter()
    shape = (len(test), len(classes)) if setup.classifies else (len(test),)
    if answers.shape != shape or not np.isfinite(answers).all():
        raise ValueError(
            f"answers of shape {answers.shape} for {shape}, {np.isfinite(answers).mean():.0%} of them finite"
        )
    if setup.classifies:
        everything = np.unique(table.target)
        chances = np.zeros((len(test), len(everything)))  # nothing for a class that was never seen
        chances[:, np.searchsorted(everything, classes)] = answers
        scores = class_scores(np.searchsorted(everything, truth), chances)
    else:
        scores = number_scores(truth, answers)
    return scores, fitted - began, ended - fitted


def _said(error: Exception) -> str:
    """What an error says, in one line and without the folders of this machine."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return re.sub(r"(?:/[\w.+-]+)+/", "", line)[:LONGEST_ERROR]


def versions(method: Method) -> dict[str, str]:
    names = {"sklearn": "scikit-learn"}
    found = {"python": platform.python_version()}
    for package in dict.fromkeys((*method.packages, "numpy", "pandas", "sklearn")):
        name = names.get(package, package)
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a module of a package: its version is the package's
            continue
    return found


def machine() -> dict[str, Any]:
    """The class of machine, which says nothing about whose it is."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"processor": models[0] if models else platform.machine(), "cores": os.cpu_count()}
