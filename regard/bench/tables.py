"""Tables: seconds of fitting and predicting a small table in context, and rows a second of predicting many."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.bench.measurement import Figure, Job, Measurement, Peer, median_seconds, peer_jobs
from regard.bench.sizes import Sizes
from regard.tables import NPTClassifier

FIT, PREDICT = "fit and predict", "predict"
Table = tuple[np.ndarray, np.ndarray, np.ndarray]  # cells and labels to fit, cells to predict


def measure(sizes: Sizes, rounds: int, _: Path) -> Measurement:
    table = some_table(sizes)
    ours = estimator_jobs(lambda: NPTClassifier(mode="in_context", random_state=0), table)
    theirs, notes = peer_jobs(PEERS, table)
    seconds = median_seconds({**ours, **theirs}, rounds)
    queries, shape = len(table[2]), f"{sizes.rows} × {sizes.columns}"
    fits = {name: seconds[what, name] for what, name in theirs if what == FIT}
    speeds = {name: queries / seconds[what, name] for what, name in theirs if what == PREDICT}
    figures = (
        Figure(f"fit {shape}, predict {first_rows(table)}", seconds[FIT], "s", fits),
        Figure(f"predict {queries:,} rows", queries / seconds[PREDICT], "rows/s", speeds),
    )
    return Measurement("tables", "two classes, columns of numbers; regard in mode in_context", figures, notes)


def some_table(sizes: Sizes) -> Table:
    """Numbers, and two classes that depend on a few of them."""
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(sizes.rows + sizes.query_rows, sizes.columns))
    score = cells[:, 0] * cells[:, 1] + np.sin(2 * cells[:, 2]) + rng.normal(size=len(cells)) / 2
    return cells[: sizes.rows], (score[: sizes.rows] > 0).astype(int), cells[sizes.rows :]


def first_rows(table: Table) -> int:
    return min(100, len(table[2]))


def estimator_jobs(make: Callable[[], Any], table: Table) -> dict[str, Job]:
    cells, labels, queries = table
    few = queries[: first_rows(table)]
    fitted = make().fit(cells, labels)
    return {FIT: lambda: make().fit(cells, labels).predict(few), PREDICT: lambda: fitted.predict(queries)}


def catboost_jobs(table: Table) -> dict[str, Job]:
    from catboost import CatBoostClassifier

    return estimator_jobs(partial(CatBoostClassifier, verbose=0, allow_writing_files=False), table)


def lightgbm_jobs(table: Table) -> dict[str, Job]:
    from lightgbm import LGBMClassifier

    return estimator_jobs(partial(LGBMClassifier, verbose=-1), table)


PEERS = {"CatBoost": Peer(("catboost",), catboost_jobs), "LightGBM": Peer(("lightgbm",), lightgbm_jobs)}
