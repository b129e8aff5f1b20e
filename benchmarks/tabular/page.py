"""The report as a page of Markdown, from its document."""

from collections.abc import Iterable
from typing import Any

from .boards import SMALL
from .files import TASKS
from .standings import GROUPS, HERO

TOP = """# Tables: regard and baselines

Written by `python benchmarks/tables.py --report`; [README](../README.md) says what is measured and how.

Methods are ranked on each table (by AUC, or RMSE for regression, averaged over seeds; ties share a rank), and ranks are
averaged over tables: 1 is best. Each method of ours is ranked among the baselines alone, the baselines together with
regard_auto. A method that fails on a table ranks last there, and counts as a random guess in the means of AUC (0.5) and
R² (0). Tables that a method cannot fit are left out of its row only. Seconds are for fitting and predicting.
"""


def page(document: dict[str, Any]) -> str:
    parts = [TOP]
    for setting in document["settings"]:
        parts += _setting(setting)
    if document["folds"]:
        parts += _folds(document["folds"])
    return "\n".join(parts)


def _setting(setting: dict[str, Any]) -> Iterable[str]:
    yield f"## {_title(setting)}\n"
    counts = [sum(each["task"] == task for each in setting["tables"]) for task in TASKS]
    each = "one split" if setting["seeds"] == 1 else f"{setting['seeds']} splits"
    yield f"{counts[0]} classification and {counts[1]} regression tables, {each} each."
    yield f"Measured on: {'; '.join(setting['machines'])}.\n"
    if setting["waiting"]:
        waits = (f"{table} ({', '.join(methods)})" for table, methods in setting["waiting"].items())
        yield f"Not counted, since some methods have not been measured there: {'; '.join(waits)}.\n"
    if setting["tables"]:
        yield _standings(setting["standings"])
    for task in TASKS:
        yield from _scores([each for each in setting["tables"] if each["task"] == task], setting["standings"])
    if setting["errors"]:
        yield "### Errors\n"
        yield "\n".join(f"- {error}" for error in setting["errors"]) + "\n"


def _title(setting: dict[str, Any]) -> str:
    rows = "All training rows" if setting["rows"] is None else f"At most {setting['rows']:,} training rows"
    return rows + (", duplicate rows removed" if setting["unique"] else "")


def _standings(standings: list[dict[str, Any]]) -> str:
    head = ["method", "rank", "classification", "regression", f"up to {SMALL:,} rows", "AUC", "R²", "seconds"]
    head += ["failures", "left out", f"{HERO} wins–ties–losses"]
    lines = []
    for each in standings:
        ranks = [_figure(each["rank"][group], 2) for group in GROUPS]
        duels = "" if each["duels"] is None else "–".join(map(str, each["duels"]))
        scores = [_figure(each["auc"], 4), _figure(each["r2"], 4), _figure(each["seconds"], 1)]
        lines.append([each["method"], *ranks, *scores, str(each["failures"]), str(each["left_out"]), duels])
    return _grid(head, lines)


def _scores(tables: list[dict[str, Any]], standings: list[dict[str, Any]]) -> Iterable[str]:
    """Every table by itself; the best of it in bold."""
    if not tables:
        return
    methods = [each["method"] for each in standings]
    lines = []
    for each in tables:
        best = min(each["ranks"].values())
        shown = [_score(each, method, best) for method in methods]
        lines.append([each["table"], f"{each['rows']:,}", *shown])
    yield f"### {tables[0]['measure'].upper()} of each table\n"
    yield _grid(["table", "rows", *methods], lines)


def _score(table: dict[str, Any], method: str, best: float) -> str:
    if method in table["left_out"]:
        return "left out"
    score = table["scores"][method]
    if score is None:
        return "failed"
    shown = f"{score:.4g}"
    return f"**{shown}**" if table["ranks"][method] == best else shown


def _folds(folds: dict[str, Any]) -> Iterable[str]:
    yield "## Ten folds of the NPT paper's small tables\n"
    yield "The mean of the folds' scores ± its standard error. Published figures are of other folds.\n"
    tables = list(dict.fromkeys(table for results in folds["measured"].values() for table in results))
    measures = {table: each["measure"] for results in folds["measured"].values() for table, each in results.items()}
    lines = [
        [method, *(_fold(results.get(table)) for table in tables)] for method, results in folds["measured"].items()
    ]
    lines += [[name, *(str(each.get(table, "")) for table in tables)] for name, each in folds["published"].items()]
    yield _grid(["method", *(f"{table}, {measures[table].upper()}" for table in tables)], lines)


def _fold(result: dict[str, Any] | None) -> str:
    if result is None:
        return ""
    return "failed" if result["mean"] is None else f"{result['mean']:.4g} ± {result['error']:.2g}"


def _figure(value: float | None, places: int) -> str:
    return "" if value is None else f"{value:,.{places}f}"


def _grid(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
