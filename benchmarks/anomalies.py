"""Anomalies: regard beside scikit-learn's IsolationForest and LocalOutlierFactor, by the area under the ROC curve.

    python benchmarks/anomalies.py --data DATA
    python benchmarks/anomalies.py --data DATA --tables mammography --rows 400

Two kinds of anomalies, each in 5 % of the rows. Rare classes: rows of a table's rarer classes among those of the most
frequent one, without the class. Wrong cells: in rows of a table one cell is replaced by that of another row; there
`named` is how often the replaced cell is the most surprising one of its row. Every finished measurement is kept in
benchmarks/tables/anomalies.json, and is not made again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from regard.core.machine import choose_wait_policy

choose_wait_policy()

from sklearn.ensemble import IsolationForest  # noqa: E402  (the policy must be chosen before)
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.neighbors import LocalOutlierFactor  # noqa: E402

from regard.tables import NPTAnomalies  # noqa: E402

RESULTS = Path(__file__).parent / "tables" / "anomalies.json"
RATE = 0.05
RARE_CLASSES = ("mammography", "hypothyroid", "breast_cancer", "ionosphere", "wine_cultivars")
WRONG_CELLS = ("auto_mpg", "energy_heating", "penguins", "wine_quality")
LABEL = "target"


def rare_classes(table: pd.DataFrame, rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of the most frequent class, and a few of all others."""
    common = table[LABEL].mode()[0]
    normal, rare = table[table[LABEL] == common], table[table[LABEL] != common]
    count = min(len(normal), round((1 - RATE) * rows))
    few = min(len(rare), round(RATE / (1 - RATE) * count))
    chosen = pd.concat([normal.sample(count, random_state=seed), rare.sample(few, random_state=seed)])
    chosen = chosen.sample(frac=1, random_state=seed).reset_index(drop=True)
    return chosen.drop(columns=LABEL), (chosen[LABEL] != common).to_numpy()


def wrong_cells(table: pd.DataFrame, rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, dict[int, str]]:
    """Rows of which a few have one cell of another row; the cell of each of these."""
    rng = np.random.default_rng(seed)
    table = table.sample(min(rows, len(table)), random_state=seed).reset_index(drop=True)
    original, wrong = table.copy(), {}
    for row in rng.permutation(len(table))[: round(RATE * len(table))].tolist():
        column = str(rng.choice(table.columns))
        others = original.index[original[column].notna() & (original[column] != original.loc[row, column])]
        table.loc[row, column] = original.loc[rng.choice(others), column]
        wrong[row] = column
    return table, np.isin(np.arange(len(table)), list(wrong)), wrong


def measure(table: pd.DataFrame, anomalous: np.ndarray, wrong: dict[int, str], seed: int) -> dict[str, float]:
    began = time.monotonic()
    detector = NPTAnomalies(random_state=seed).fit(table)
    result = {
        "rows": len(table),
        "columns": table.shape[1],
        "anomalies": int(anomalous.sum()),
        "regard": float(roc_auc_score(anomalous, detector.training_.total)),
        "seconds": time.monotonic() - began,
    }
    if wrong:
        names = np.array([one.name for one in detector.scored_])
        first = names[detector.training_.bits.argmax(1)]
        result["named"] = float(np.mean([first[row] == column for row, column in wrong.items()]))
    numbers = as_numbers(table)
    forest = IsolationForest(random_state=seed).fit(numbers)
    result["isolation_forest"] = float(roc_auc_score(anomalous, -forest.score_samples(numbers)))
    factor = LocalOutlierFactor().fit(numbers).negative_outlier_factor_
    result["local_outlier_factor"] = float(roc_auc_score(anomalous, -factor))
    return result


def as_numbers(table: pd.DataFrame) -> np.ndarray:
    """As scikit-learn's detectors need them: categories one-hot, missing cells the median, standardised."""
    encoded = pd.get_dummies(table, dtype=float)
    encoded = encoded.fillna(encoded.median())
    return ((encoded - encoded.mean()) / (encoded.std() + 1e-9)).to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of CSV files with a column `target`")
    parser.add_argument("--tables", nargs="*", default=[*RARE_CLASSES, *WRONG_CELLS])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in options.tables:
        key = f"{name}, {options.rows} rows, seed {options.seed}"
        if key not in results:
            table = pd.read_csv(options.data / f"{name}.csv")
            if name in RARE_CLASSES:
                case = (*rare_classes(table, options.rows, options.seed), dict[int, str]())
            else:
                case = wrong_cells(table, options.rows, options.seed)
            results[key] = {"kind": "rare classes" if name in RARE_CLASSES else "wrong cells"}
            results[key] |= measure(*case, options.seed)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(key, json.dumps(results[key]), flush=True)


if __name__ == "__main__":
    main()
