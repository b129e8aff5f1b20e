"""The tables of the pages from the table benchmarks: mean ranks, the folds and lookup experiments of the NPT paper."""

import statistics
from collections.abc import Callable
from typing import Any

from mechanisms import NOT_YET, ROOT, read, table

CALLED = {
    "regard_auto": "**regard**",
    "regard_attention": "**regard, `attention`**",
    "regard_in_context": "**regard, `in_context`**",
}
REPORT, LOOKUP, ROWS, TRUST = (f"benchmarks/tables/{name}.json" for name in ("report", "lookup", "rows", "trust"))


def where_measured(path: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """A table of a slow benchmark; if it has not been run, the page says so."""
    return lambda make: lambda: make() if (ROOT / path).exists() else NOT_YET


GROUPS = {"all": "all", "small": "up to 1,000 rows", "classification": "classification", "regression": "regression"}


def ranks(*, capped: bool) -> Callable[[], str]:
    """Only of methods that were measured on every table; a Gaussian process does not fit large ones."""

    @where_measured(REPORT)
    def make() -> str:
        settings = read(REPORT)["settings"]
        found = [one for one in settings if bool(one["rows"]) == capped and not one["unique"] and one["tables"]]
        return _standings(found[0]) if found else NOT_YET

    return make


def _standings(found: dict[str, Any]) -> str:
    groups = {group: name for group, name in GROUPS.items() if _count(found["tables"], group)}
    return table(
        ("mean rank", *(f"{name} ({_count(found['tables'], group)})" for group, name in groups.items())),
        [
            (_called(one["method"]), *(f"{one['rank'][group]:.2f}" for group in groups))
            for one in found["standings"]
            if not one["left_out"]
        ],
    )


@where_measured(REPORT)
def duplicates() -> str:
    """The same tables with their duplicate rows and without them."""
    capped = [one for one in read(REPORT)["settings"] if one["rows"]]
    kept, removed = ({one["table"]: one["ranks"] for one in found["tables"]} for found in _both(capped))
    shared = sorted(kept.keys() & removed.keys())
    if not shared:
        return NOT_YET
    methods = [method for method in removed[shared[0]] if all(method in removed[name] for name in shared)]
    means = {
        method: [statistics.mean(ranks[name][method] for name in shared) for ranks in (kept, removed)]
        for method in methods
    }
    return table(
        (f"mean rank on {len(shared)} tables", "as they are", "duplicate rows removed"),
        [(_called(method), *(f"{mean:.2f}" for mean in both)) for method, both in sorted(means.items(), key=_last)],
    )


def _both(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With duplicate rows, and without."""
    return [next((one for one in settings if one["unique"] == unique), {"tables": []}) for unique in (False, True)]


def _last(means: tuple[str, list[float]]) -> float:
    return means[1][-1]


def _called(method: str) -> str:
    return CALLED.get(method, method.replace("_", " "))


def _count(tables: list[dict[str, Any]], group: str) -> int:
    return sum(group == "all" or one["task"] == group or (group == "small" and one["rows"] <= 1000) for one in tables)


@where_measured(REPORT)
def folds() -> str:
    """RMSE, of the last table AUC, with the standard error of the mean where it is ours."""
    found = read(REPORT)["folds"]
    named = {
        "boston_housing": "Boston",
        "concrete": "Concrete",
        "yacht": "Yacht",
        "breast_cancer": "breast cancer, AUC",
    }
    ours = [
        (_called(method), *(_with_error(results.get(name)) for name in named))
        for method, results in found["measured"].items()
        if any(name in results for name in named)
    ]
    theirs = [(who, *(results[name] for name in named)) for who, results in found["published"].items()]
    return table(("ten folds, RMSE", *named.values()), [*ours, *theirs])


def _with_error(result: dict[str, Any] | None) -> str:
    if result is None or result["mean"] is None:
        return "–"
    places = 4 if result["measure"] == "auc" else 2
    return f"{result['mean']:.{places}f} ± {result['error']:.{places}f}"


@where_measured(LOOKUP)
def lookup() -> str:
    found = read(LOOKUP)["variants"]
    named = {
        "original": "the duplicate as it is",
        "noisy": "three columns of both replaced by noise",
        "add_one": "the duplicate shows the target plus one",
        "both": "noise, and plus one",
    }
    return table(
        ("", "correlation with the truth", "after the duplicate's target was changed", "attention on the duplicate"),
        [
            (
                named[name],
                f"{one['pearson']:.6f}",
                f"{one['intervention_pearson']:.6f}",
                f"{one['attention_on_duplicate']:.1%}",
            )
            for name, one in found.items()
        ],
    )


@where_measured(ROWS)
def rows() -> str:
    found = read(ROWS)["tables"]
    named = {
        "whole": "whole",
        "corrupted": "whole, with shuffled rows",
        "no_rows": "no attention between rows",
        "no_attributes": "no attention between attributes",
        "no_feature_masking": "features never masked",
        "no_target_masking": "all targets masked",
    }
    return table(
        ("RMSE, mean of three splits", *(name.removesuffix("_housing").capitalize() for name in found)),
        [(called, *(f"{one['rmse'][name]:.2f}" for one in found.values())) for name, called in named.items()],
    )


@where_measured(TRUST)
def trust() -> str:
    """What has been measured of it."""
    found, rows = read(TRUST), []
    if "intervals" in found:
        mean, count = found["intervals"]["mean"], len(found["intervals"]["tables"])
        rows += [
            (f"numbers in their 90 % interval, mean of {count} tables", f"{mean['within_90']:.1%}", ""),
            ("in their 50 % interval", f"{mean['within_50']:.1%}", ""),
            ("below their median", f"{mean['below_median']:.1%}", ""),
        ]
    if "probabilities" in found:
        mean, count = found["probabilities"]["mean"], len(found["probabilities"]["tables"])
        called = f"calibration error of probabilities, mean of {count} tables (lower is better)"
        rows.append((called, f"{mean['regard']:.3f}", f"{mean['catboost']:.3f}"))
    if "attributions" in found:
        mean = found["attributions"]["mean"]
        called = "rank correlation of effects with the true ones, generated tables"
        rows.append((called, f"{mean['regard']:.3f}", f"{mean['shap_of_catboost']:.3f} (SHAP)"))
    if "attributions_auto" in found:
        mean, limit = found["attributions_auto"]["mean"], found["attributions_auto"]["limit"]
        called = f'the same, fitted with `mode="auto"` in {limit:.0f} s'
        rows.append((called, f"{mean['regard']:.3f}", f"{mean['shap_of_catboost']:.3f} (SHAP)"))
    if "evidence" in found:
        ahead, count = found["evidence"]["tables_where_named_rows_move_more"], found["evidence"]["of"]
        rows.append(("without its evidence a prediction moves more than without other rows", f"{ahead} of {count}", ""))
    return table(("", "regard, `in_context`", "CatBoost"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "ranks": ranks(capped=True),
    "ranks of whole tables": ranks(capped=False),
    "duplicates": duplicates,
    "folds": folds,
    "lookup": lookup,
    "rows": rows,
    "trust": trust,
}
