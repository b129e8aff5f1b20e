"""What to do next: commands for this run, or Python for an estimator in memory."""

from dataclasses import dataclass
from shlex import quote

from regard.tables.report.results import TargetResults


@dataclass(frozen=True)
class Origin:
    """Where a fitted estimator comes from."""

    name: str  # of the run folder, or of the class
    run: str | None = None  # its folder
    table: str | None = None  # the file that it was fitted to
    split: str | None = None  # the option by which `fit` held out rows, if not at random


def next_steps(origin: Origin, mode: str, targets: tuple[TargetResults, ...]) -> tuple[tuple[str, str], ...]:
    """What to do, and the line to type."""
    if origin.run is None:
        return _in_python(targets)
    run, target = quote(origin.run), targets[0]
    option = f" --threshold {target.detection.threshold:.2g}" if target.detection and len(targets) == 1 else ""
    table = quote(origin.table or "TABLE.csv")
    steps = [
        ("Predict new rows", f"regard predict {run} NEW.csv --out predictions.csv{option}"),
        ("See why one row is predicted so", f"regard explain {run} NEW.csv --row 0"),
        ("Score rows that came later", f"regard evaluate {run} LATER.csv{option}"),
    ]
    if len(targets) == 1:
        name = quote(target.name)
        if mode == "in_context":
            better = f"regard fit {table} --target {name} --out {quote(origin.run + '-trained')} --time-limit 60"
            steps.append(("Also train on this table, which is often better", better))
        steps.append(("Compare with more models, in five folds", f"regard compare {table} --target {name}"))
    return tuple(steps)


def _in_python(targets: tuple[TargetResults, ...]) -> tuple[tuple[str, str], ...]:
    kind = "predict_proba" if targets[0].classes else "predict"
    return (
        ("Predict new rows", f"model.{kind}(new_rows)"),
        ("See why one row is predicted so", "model.evidence(new_rows)[0].columns"),
        ("Keep the model, also for the command line", 'model.save("runs/model")'),
    )
