"""Predictions of a Non-Parametric Transformer for the rows of a data frame, from the training rows of its table."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.core.errors import UserError
from regard.store.loaded import read_part
from regard.tables.encode.cells import read_categories
from regard.tables.file import TableFile
from regard.tables.network.masking import StandardisedTable
from regard.tables.network.scratch import MAX_BATCH_CELLS, MIN_BATCH_ROWS, NPTPredictor
from regard.tables.problem import Problem, read_problem
from regard.tasks.base import Run


def rows_of_a_step(table: StandardisedTable, batch_size: int) -> int:
    rows, columns = table.cells.shape
    return min(rows, batch_size, max(MIN_BATCH_ROWS, MAX_BATCH_CELLS // columns))


def predict_rows(run: Run, rows: Any) -> np.ndarray:
    """The class or number of each row; the training rows are read again from the table's own file."""
    data: TableFile = read_part(run.path, TableFile, "data")
    problem = read_problem(Path(data.file), data.target)
    columns, known, _ = data.fit()
    table = StandardisedTable.fit(known)
    context = torch.arange(min(len(table.cells), 2 * rows_of_a_step(table, len(table.cells))))
    network = NPTPredictor(run.model, table, context, torch.empty(0))  # type: ignore[arg-type]
    cells = columns.encode(rows)
    answers = network.predict(torch.from_numpy(cells.values)).numpy()
    return _labels(problem)[answers.argmax(1)] if problem.classifies else answers[:, 0]


def evaluate_rows(run: Run, file: str) -> dict[str, Any]:
    data: TableFile = read_part(run.path, TableFile, "data")
    problem = read_problem(Path(file), data.target)
    predictions, truth = predict_rows(run, problem.features), problem.target.to_numpy()
    if problem.classifies:
        return {"accuracy": float((predictions == truth).mean()), "rows": len(truth)}
    if predictions.dtype == object:
        raise UserError(f"{file}: {data.target!r} holds numbers, and {run.path} predicts classes")
    from regard.tables.scores import number_scores  # with scikit-learn, which is slow to import

    return {**number_scores(truth.astype(float), predictions.astype(float)), "rows": len(truth)}


def _labels(problem: Problem) -> np.ndarray:
    labels = read_categories(problem.target)
    names = np.empty(len(labels), dtype=object)
    names[:] = labels
    return names
