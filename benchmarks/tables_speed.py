"""How fast tables are predicted, beside CatBoost and LightGBM at defaults, in turn and on the same generated tables.

    python benchmarks/tables_speed.py                            five rounds, a file of 100,000 rows; some ten minutes
    python benchmarks/tables_speed.py --rounds 1 --file-rows 20000 --only small,one,import

Every measure is the median over rounds of wall and of processor time, in seconds. On a busy machine only the latter
can be compared, and the ratios within a run. `import` starts a new interpreter each time, up to the first prediction.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import numpy as np  # noqa: E402  (the policy must be chosen before)
import pandas as pd  # noqa: E402
import torch  # noqa: E402

from regard.tables import NPTClassifier  # noqa: E402
from regard.tables.streaming import FilePredictions  # noqa: E402

RESULT = Path(__file__).parent / "tables" / "speed.json"
MEASURES = ("small", "one", "import", "wide", "large", "load", "file")
FIRST = "import numpy as np; x = np.random.default_rng(0).normal(size=(600, 20)); y = x[:, 0] * x[:, 1] > 0; "
STARTS = {
    "regard": "from regard.tables import NPTClassifier as Model; m = Model(mode='in_context', random_state=0); ",
    "catboost": "from catboost import CatBoostClassifier as Model; m = Model(verbose=0, allow_writing_files=False); ",
    "lightgbm": "from lightgbm import LGBMClassifier as Model; m = Model(verbose=-1); ",
}
LAST = "m.fit(x[:500], y[:500]).predict(x[500:])"


def models() -> dict[str, Callable[[], Any]]:
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier

    return {
        "regard": lambda: NPTClassifier(mode="in_context", random_state=0),
        "catboost": lambda: CatBoostClassifier(verbose=0, allow_writing_files=False),
        "lightgbm": lambda: LGBMClassifier(verbose=-1),
    }


def some_table(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and two classes that depend on a few of them."""
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(rows, columns))
    score = cells[:, 0] * cells[:, 1] + np.sin(2 * cells[:, 2]) + cells[:, 3:8].sum(1) / 2
    return cells, (score + rng.normal(size=rows) / 2 > 0).astype(int)


def timed(job: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds, those of child processes too."""

    def now() -> tuple[float, float]:
        spent = os.times()
        return time.perf_counter(), spent.user + spent.system + spent.children_user + spent.children_system

    before = now()
    job()
    after = now()
    return after[0] - before[0], after[1] - before[1]


def in_turn(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, float]]:
    """The medians of each job, all of them run in every round."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(timed(job))
    return {
        name: {
            "wall": statistics.median(wall for wall, _ in each),
            "processor": statistics.median(cpu for _, cpu in each),
        }
        for name, each in times.items()
    }


def fit_and_predict(rows: int, columns: int, queries: int, rounds: int) -> dict[str, Any]:
    x, y = some_table(rows + queries, columns)
    jobs = {
        name: lambda model=model: model().fit(x[:rows], y[:rows]).predict_proba(x[rows:])
        for name, model in models().items()
    }
    return in_turn(jobs, rounds)


def one_more_row(rounds: int) -> dict[str, Any]:
    x, y = some_table(602, 20)
    fitted = {name: model().fit(x[:500], y[:500]) for name, model in models().items()}
    for model in fitted.values():
        model.predict_proba(x[500:600])
    return in_turn(
        {name: lambda model=model: model.predict_proba(x[600:601]) for name, model in fitted.items()}, rounds
    )


def import_to_prediction(rounds: int) -> dict[str, Any]:
    def run(start: str) -> None:
        subprocess.run([sys.executable, "-c", FIRST + start + LAST], check=True)

    return in_turn({name: lambda start=start: run(start) for name, start in STARTS.items()}, rounds)


def loading(rounds: int, folder: Path) -> dict[str, Any]:
    """Loading a saved model of 2,000 rows × 20 once everything is imported, and its size."""
    import regard

    save_model(folder / "run")
    regard.load(folder / "run")
    found: dict[str, Any] = in_turn({"regard": lambda: regard.load(folder / "run")}, rounds)
    found["bytes"] = sum(file.stat().st_size for file in (folder / "run").iterdir())
    return found


def save_model(folder: Path) -> NPTClassifier:
    x, y = some_table(2000, 20)
    model = NPTClassifier(mode="in_context", random_state=0).fit(pd.DataFrame(x).add_prefix("x"), y)
    model.save(folder, overwrite=True)
    return model


def file_of_rows(rows: int, folder: Path) -> dict[str, Any]:
    """Rows a second of `regard predict` for a CSV file, by a model of 2,000 rows × 20, and the peak of memory."""
    model = save_model(folder / "run")
    table = folder / "large.csv"
    with table.open("w") as file:
        for start in range(0, rows, 50_000):
            x, _ = some_table(min(50_000, rows - start), 20, seed=1 + start)
            pd.DataFrame(x).add_prefix("x").round(6).to_csv(file, index=False, header=start == 0)
    model.predict_proba(pd.read_csv(table, nrows=1))  # the context is read
    wall, processor = timed(lambda: FilePredictions(model, table).write(folder / "predictions.csv", folder / "run"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "rows": rows, "bytes": table.stat().st_size, "wall": wall, "processor": processor,
        "rows_a_second": rows / wall, "rows_a_processor_second": rows / processor, "peak_memory": peak,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file-rows", type=int, default=100_000)
    parser.add_argument("--only", default=",".join(MEASURES), help="some of: " + ", ".join(MEASURES))
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    chosen = given.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "small": lambda: fit_and_predict(500, 20, 100, given.rounds),
            "one": lambda: one_more_row(5 * given.rounds),
            "import": lambda: import_to_prediction(given.rounds),
            "wide": lambda: fit_and_predict(1500, 600, 879, 1),
            "large": lambda: fit_and_predict(6000, 20, 2000, 1),
            "load": lambda: loading(given.rounds, folder),
            "file": lambda: file_of_rows(given.file_rows, folder),
        }
        results = json.loads(given.out.read_text()) if given.out.exists() else {}
        machine = {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "load": os.getloadavg()[0]}
        results["machine"] = machine
        for measure in MEASURES:
            if measure in chosen:
                results[measure] = measures[measure]()
                print(measure, json.dumps(results[measure]), flush=True)
                given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
