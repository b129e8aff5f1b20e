"""What to do next: commands for this run, or Python for an estimator in memory.

They repeat the options of the fit: without its `--ignore`, a column that was left out on purpose would be a feature
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import join, quote
from typing import Any

from regard.tables.encode.keys import IGNORE
from regard.tables.report.results import TargetResults


@dataclass(frozen=True)
class FitOptions:
    """The options of `regard fit` that decide what is a feature, a target and a held-out row."""

    kinds: Mapping[str, str] = field(default_factory=dict)  # by column; those of --ignore and --group are "ignore"
    split: str = ""  # --time COLUMN or --group COLUMN
    task: str = ""
    query: str = ""
    cost: str = ""
    weights: str = ""

    @classmethod
    def of_run(cls, config: Mapping[str, Any], estimator: Any) -> "FitOptions":
        """As a run folder keeps them."""
        texts = {name: str(config.get(name) or "") for name in ("split", "task", "query", "cost")}
        return cls(kinds=estimator.kinds or {}, weights=str(estimator.weights or ""), **texts)

    @property
    def split_by(self) -> tuple[str, str]:
        """The option and its column; both are empty if rows were held out at random."""
        option, _, column = self.split.partition(" ")
        return option, column

    def of_fit(self) -> str:
        options = self._shared()
        for name, value in (("--cost", self.cost), ("--weights", self.weights)):
            options += [name, value] if value else []
        return _option_text(options)

    def of_compare(self) -> str:
        return _option_text(self._shared())

    def _shared(self) -> list[str]:
        split, by = self.split_by
        options = []
        for column, kind in self.kinds.items():
            if kind != IGNORE:
                options += ["--kind", f"{column}={kind}"]
            elif (split, column) != ("--group", by):  # the column of --group is no feature anyway
                options += ["--ignore", column]
        options += [split, by] if by else []
        for name, value in (("--task", self.task), ("--query", self.query)):
            options += [name, value] if value else []
        return options


@dataclass(frozen=True)
class Origin:
    """Where a fitted estimator comes from."""

    name: str  # of the run folder, or of the class
    run: str | None = None  # its folder
    table: str | None = None  # the file that it was fitted to
    options: FitOptions = field(default_factory=FitOptions)
    threshold: float | None = None  # that `fit` has proposed

    @property
    def split(self) -> str | None:
        """The option by which `fit` held out rows, if not at random."""
        return self.options.split or None


def next_steps(origin: Origin, mode: str, targets: tuple[TargetResults, ...]) -> tuple[tuple[str, str], ...]:
    """What to do, and the line to type."""
    if origin.run is None:
        return _in_python(targets)
    run, target = quote(origin.run), targets[0]
    option = f" --threshold {target.detection.threshold:g}" if target.detection and len(targets) == 1 else ""
    table = quote(origin.table or "TABLE.csv")
    steps = [
        ("Predict new rows", f"regard predict {run} NEW.csv --out predictions.csv{option}"),
        ("See why one row is predicted so", f"regard explain {run} NEW.csv --row 0"),
        ("Score rows that came later", f"regard evaluate {run} LATER.csv{option}"),
    ]
    if len(targets) == 1:
        name, options = quote(target.name), origin.options
        if mode == "in_context":
            out = quote(origin.run + "-trained")
            better = f"regard fit {table} --target {name}{options.of_fit()} --out {out} --time-limit 60"
            steps.append(("Also train on this table, which is often better", better))
        comparison = f"regard compare {table} --target {name}{options.of_compare()}"
        steps.append(("Compare with more models, in five folds", comparison))
    return tuple(steps)


def _option_text(options: list[str]) -> str:
    return f" {join(options)}" if options else ""


def _in_python(targets: tuple[TargetResults, ...]) -> tuple[tuple[str, str], ...]:
    kind = "predict_proba" if targets[0].classes else "predict"
    return (
        ("Predict new rows", f"model.{kind}(new_rows)"),
        ("See why one row is predicted so", "model.evidence(new_rows)[0].columns"),
        ("Keep the model, also for the command line", 'model.save("runs/model")'),
    )
