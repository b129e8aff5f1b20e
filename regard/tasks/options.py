"""What every training verb can be told, and what becomes of it."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.recipes import Plan
    from regard.train import Report


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Run:
    """What every training verb can be told.

    Parameters
    ----------
    out
        Run folder to write.
    steps
        Train for this many steps.
    epochs
        Train for this many passes over the data.
    minutes
        Train for this long.
    seed
        Seed of every random number.
    processes
        Share every batch among this many processes: small models on few cores learn up to twice as fast.
    resume
        Go on from the last checkpoint in the folder, exactly as if it had never stopped.
    overwrite
        Replace the run that the folder holds.
    show_settings
        Print the settings as YAML and stop.
    """

    out: Path
    steps: int | None = None
    epochs: float | None = None
    minutes: float | None = None
    seed: int | None = None
    processes: int = 1
    resume: bool = False
    overwrite: bool = False
    show_settings: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether the folder holds the run's own plan, and nothing else is asked."""
        from regard.store import CONFIG

        return self.resume and (self.out / CONFIG).exists()

    def changes(self) -> dict[str, Any]:
        """A budget on the command line replaces the recipe's own."""
        budget = {"steps": self.steps, "epochs": self.epochs, "minutes": self.minutes}
        given: dict[str, Any] = {} if all(value is None for value in budget.values()) else {**budget, "min_steps": 0}
        if self.seed is not None:
            given["seed"] = self.seed
        return {f"training.{name}": value for name, value in given.items()}

    def make(self, plan: "Plan", changes: dict[str, Any] | None, train: Callable[..., "Report"]) -> int:
        """Settle the plan, then print it or run it; gives the exit code."""
        from regard.cli.next_step import next_step
        from regard.recipes import settle
        from regard.train import is_rank, run_as_ranks

        plan = settle(plan, {**self.changes(), **(changes or {})}, self.out, self.resume)
        if self.show_settings:
            from regard.core.config import to_yaml

            print(to_yaml(plan), end="")
            return 0
        if self.processes != 1 and not is_rank():
            return run_as_ranks(self.processes, sys.argv[1:])
        report = train(plan, self.out, resume=self.resume, overwrite=self.overwrite)
        if report.stopped_by:
            self.tell(f"{self.out}: stopped and saved at step {report.progress.step:,}; --resume goes on from there")
            return 128 + report.stopped_by
        self.tell(next_step(plan.task, self.out))
        return 0

    def tell(self, line: str | None) -> None:
        if line and os.environ.get("RANK", "0") == "0":
            print(line, file=sys.stderr)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TextRun(Run):
    """What a verb that trains on text can be told besides.

    Parameters
    ----------
    tokenizer
        A tokenizer.json to cut the text with; without it one is trained on the data.
    """

    tokenizer: Path | None = None

    def changes(self) -> dict[str, Any]:
        given = {} if self.tokenizer is None else {"kind": "Given", "file": str(self.tokenizer)}
        return super().changes() | ({"data.tokenizer": given} if given else {})


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CorpusRun(TextRun):
    """What a verb that learns from running text can be told besides.

    Parameters
    ----------
    data
        Text files: .txt, or .jsonl, .csv or .parquet with a field `text`; also packed with .gz, .xz or .zst.
    valid
        Files to measure by; without them the last tenth of the data.
    columns
        Name of the column of the text, where files call it otherwise than text.
    """

    data: tuple[Path, ...]
    valid: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(map(str, self.data))

    def changes(self) -> dict[str, Any]:
        return super().changes() | valid_setting(self.valid) | columns_setting(self.columns)


def valid_setting(valid: tuple[Path, ...]) -> dict[str, Any]:
    """Nothing where nothing is named: a run that is gone on with keeps what it measures by."""
    return {"data.valid": [str(path) for path in valid]} if valid else {}


def columns_setting(columns: tuple[str, ...]) -> dict[str, Any]:
    return {"data.columns": list(columns)} if columns else {}


def tree_settings(trees: tuple[Path, ...], valid_trees: tuple[Path, ...]) -> dict[str, Any]:
    """Only what was given: a run that is resumed keeps its own."""
    given = {"data.trees": trees, "data.valid_trees": valid_trees}
    return {name: [str(path) for path in paths] for name, paths in given.items() if paths}
