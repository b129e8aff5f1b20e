"""Whether the numbers around a prediction hold: intervals, probabilities, effects of columns, evidence rows.

    python benchmarks/tables_trust.py --data DIR                            everything, in_context
    python benchmarks/tables_trust.py --data DIR --only intervals --mode auto --limit 60
    python benchmarks/tables_trust.py --only attributions                   generated tables, no data needed

- intervals: the share of test numbers inside the 90 % and 50 % intervals and below the median, for each table;
- probabilities: expected calibration error (15 bins of the largest probability), beside CatBoost's;
- attributions: on generated tables whose Shapley values are known, the rank correlation of a row's effects with them,
  beside SHAP values of CatBoost;
- evidence: how far the prediction moves without the rows that it names as evidence, and without as many others.
"""

import argparse
import json
import statistics
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.core.machine import choose_wait_policy

choose_wait_policy()

import numpy as np  # noqa: E402  (the policy must be chosen before)
import pandas as pd  # noqa: E402
from scipy.stats import spearmanr  # noqa: E402
from tabular.files import CLASSIFICATION, REGRESSION, Array, Table, read_manifest, read_table  # noqa: E402
from tabular.methods import Setup  # noqa: E402
from tabular.peers import catboost  # noqa: E402
from tabular.splits import split  # noqa: E402

from regard.tables import NPTClassifier, NPTRegressor  # noqa: E402

RESULT = Path(__file__).parent / "tables" / "trust.json"
PARTS = ("intervals", "probabilities", "attributions", "evidence")
ROWS = 2000  # of training, at most
TESTED = 2000  # rows, at most
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 15
GENERATED = 10  # tables
EXPLAINED = 15  # rows of each, one by one as `regard explain` does
EVIDENCE_TABLES = 10
EVIDENCE_ROWS = 300  # of training: every removal is a new fit
REMOVED = 10  # rows with the largest weights
OTHERS = 3  # draws of as many other rows


def tables(folder: Path, task: str) -> Iterator[Table]:
    folder = folder if (folder / "MANIFEST.csv").exists() else folder / "tables"
    for name, of in read_manifest(folder).items():
        if of == task:
            yield read_table(folder, name, of)


def parts_of(table: Table, seed: int, rows: int = ROWS) -> tuple[pd.DataFrame, Array, pd.DataFrame, Array]:
    train, test = split(table, seed, rows)
    test = test[:TESTED]
    features = (table.features.iloc[part].reset_index(drop=True) for part in (train, test))
    return next(features), table.target[train], next(features), table.target[test]


def intervals(options: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for table in tables(options.data, REGRESSION):
        shares = []
        for seed in range(options.seeds):
            known, target, query, truth = parts_of(table, seed)
            model = NPTRegressor(mode=options.mode, time_limit=options.limit, random_state=seed).fit(known, target)
            low, lower, median, upper, high = np.asarray(model.predict(query, quantiles=LEVELS)).T
            inside = ((low <= truth) & (truth <= high), (lower <= truth) & (truth <= upper), truth <= median)
            shares.append([float(each.mean()) for each in inside])
        found[table.name] = dict(zip(("within_90", "within_50", "below_median"), np.mean(shares, 0), strict=True))
        print(table.name, {name: round(share, 3) for name, share in found[table.name].items()}, flush=True)
    mean = {name: statistics.mean(one[name] for one in found.values()) for name in next(iter(found.values()))}
    return {"mode": options.mode, "seeds": options.seeds, "mean": mean, "tables": found}


def probabilities(options: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for table in tables(options.data, CLASSIFICATION):
        if table.name in options.skip:
            continue
        errors: dict[str, list[float]] = {"regard": [], "catboost": []}
        for seed in range(options.seeds):
            known, target, query, truth = parts_of(table, seed)
            classes, codes = np.unique(target, return_inverse=True)
            setup = Setup(table.task, tuple(table.texts), seed, options.threads, options.limit)
            models = {
                "regard": NPTClassifier(mode=options.mode, time_limit=options.limit, random_state=seed),
                "catboost": catboost(setup),
            }
            for name, model in models.items():
                predicted = np.asarray(model.fit(known, codes).predict_proba(query))
                errors[name].append(calibration_error(predicted, classes[predicted.argmax(1)] == truth))
        found[table.name] = {name: statistics.mean(each) for name, each in errors.items()}
        print(table.name, {name: round(error, 4) for name, error in found[table.name].items()}, flush=True)
    mean = {name: statistics.mean(one[name] for one in found.values()) for name in ("regard", "catboost")}
    return {"mode": options.mode, "seeds": options.seeds, "skipped": options.skip, "mean": mean, "tables": found}


def calibration_error(predicted: Array, right: Array) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy (Guo et al., 2017)."""
    confidence = predicted.max(1)
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [
        (place == number).sum() * abs(confidence[place == number].mean() - right[place == number].mean())
        for number in np.unique(place)
    ]
    return float(sum(gaps) / len(right))


def generated(seed: int) -> tuple[pd.DataFrame, Array, Array]:
    """Independent columns, a target, and its Shapley values: a product of two centred columns is shared in halves."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(250, 600))
    x = rng.normal(size=(count, 8))
    group = rng.integers(0, 4, count)
    level = rng.normal(size=4)
    strength = rng.uniform(0.3, 2.0, 4)
    parts = np.zeros((count, 9))
    for column, shape in enumerate((np.sin, np.tanh, np.square, lambda z: z)):
        part = strength[column] * shape(1.5 * x[:, column])
        parts[:, column] = part - part.mean()
    product = rng.uniform(0.3, 1.5) * x[:, 4] * x[:, 5]
    parts[:, 4] = parts[:, 5] = product / 2
    parts[:, 8] = level[group] - level[group].mean()
    noise = rng.normal(size=count) * rng.uniform(0.1, 0.5)
    frame = pd.DataFrame(x, columns=[f"x{number}" for number in range(8)])
    return frame.assign(group=np.array(list("abcd"))[group]), parts.sum(1) + noise, parts


def attributions(options: argparse.Namespace) -> dict[str, Any]:
    from catboost import CatBoostRegressor, Pool

    found = []
    for seed in range(GENERATED):
        frame, target, truth = generated(seed)
        known, query = frame.iloc[:-EXPLAINED], frame.iloc[-EXPLAINED:]
        settings = {"mode": options.mode, "time_limit": options.limit, "random_state": seed}
        model = NPTRegressor(**settings).fit(known, target[:-EXPLAINED])
        explained = [model.evidence(query.iloc[[place]])[0] for place in range(len(query))]
        ours = [one.columns["effect"].reindex(frame.columns).to_numpy() for one in explained]
        trees = CatBoostRegressor(verbose=False, allow_writing_files=False, random_seed=seed, cat_features=["group"])
        trees.fit(known, target[:-EXPLAINED])
        theirs = trees.get_feature_importance(Pool(query, cat_features=["group"]), type="ShapValues")[:, :-1]
        wanted = truth[-EXPLAINED:]
        found.append({"regard": agreement(ours, wanted), "shap_of_catboost": agreement(theirs, wanted)})
        print(seed, {name: round(value, 3) for name, value in found[-1].items()}, flush=True)
    mean = {name: statistics.mean(one[name] for one in found) for name in found[0]}
    limit = None if options.mode == "in_context" else options.limit  # nothing is trained in context
    return {"mode": options.mode, "limit": limit, "mean": mean, "tables": found}


def agreement(effects: Any, truth: Array) -> float:
    """The mean over rows of the rank correlation of effects and true effects."""
    return float(np.mean([spearmanr(one, wanted).statistic for one, wanted in zip(effects, truth, strict=True)]))


def evidence(options: argparse.Namespace) -> dict[str, Any]:
    found = {}
    chosen = [*tables(options.data, CLASSIFICATION)], [*tables(options.data, REGRESSION)]
    for table in [each for kind in chosen for each in kind[: EVIDENCE_TABLES // 2]]:
        known, target, query, _ = parts_of(table, 0, EVIDENCE_ROWS)
        query = query.iloc[:EXPLAINED]
        rng, moved = np.random.default_rng(0), {"named": [], "others": []}
        whole = _fitted(table, known, target)
        before = _answers(whole, query)
        for place, one in enumerate(whole.evidence(query, REMOVED)):
            row, named = query.iloc[[place]], one.rows.index.to_numpy()
            rest = np.setdiff1d(np.arange(len(known)), named)
            removals = {
                "named": [named],
                "others": [rng.choice(rest, len(named), replace=False) for _ in range(OTHERS)],
            }
            for kind, several in removals.items():
                moves = [_move(table, known, target, gone, row, before[place]) for gone in several]
                moved[kind].append(statistics.mean(moves))
        found[table.name] = {kind: statistics.mean(moves) for kind, moves in moved.items()}
        print(table.name, found[table.name], flush=True)
    ahead = sum(one["named"] > one["others"] for one in found.values())
    return {"tables_where_named_rows_move_more": ahead, "of": len(found), "tables": found}


def _fitted(table: Table, known: pd.DataFrame, target: Array) -> Any:
    kind = NPTClassifier if table.task == CLASSIFICATION else NPTRegressor
    return kind(mode="in_context", members=2, random_state=0).fit(known, target)


def _answers(model: Any, query: pd.DataFrame) -> Array:
    return np.asarray(model.predict_proba(query) if hasattr(model, "predict_proba") else model.predict(query))


def _move(table: Table, known: pd.DataFrame, target: Array, gone: Array, row: pd.DataFrame, before: Any) -> float:
    """How far the prediction of a row moves if rows are gone; one whose class is gone for good is left as it is."""
    left = np.setdiff1d(np.arange(len(known)), gone)
    if table.task == CLASSIFICATION and len(np.unique(target[left])) < len(np.unique(target)):
        return 0.0
    after = _answers(_fitted(table, known.iloc[left].reset_index(drop=True), target[left]), row)[0]
    return float(np.abs(after - before).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder that holds MANIFEST.csv and the tables")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--mode", default="in_context")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a fit, for modes that train")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--skip", nargs="+", default=[], metavar="NAME", help="tables to leave out of `probabilities`")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    if options.data is None and set(options.only) != {"attributions"}:
        parser.error("--data: name the folder that holds MANIFEST.csv")
    warnings.simplefilter("ignore")
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    for part in options.only:
        name = part if options.mode == "in_context" else f"{part}_{options.mode}"
        results[name] = {"intervals": intervals, "probabilities": probabilities, "attributions": attributions,
                         "evidence": evidence}[part](options)  # fmt: skip
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
