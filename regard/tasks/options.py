"""Options of the training verbs, and what the verbs have in common. Nothing heavy is imported before a verb runs."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.tasks.plan import Plan

Changes = Annotated[dict[str, Any] | None, Parameter(parse=False)]  # dotted settings, which `main` takes out first

log = logging.getLogger(__name__)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of every training verb.

    Parameters
    ----------
    out
        Run folder to write.
    steps
        Train for this many steps.
    epochs
        Train for this many passes over the data.
    minutes
        Train for this many minutes.
    seed
        Seed of every random number.
    processes
        Share every batch among this many processes: small models on few cores train up to twice as fast.
    resume
        Continue from the last checkpoint in the folder, exactly as if training had never stopped.
    overwrite
        Replace the run that the folder holds.
    show_settings
        Print the settings as YAML and stop.
    recipe
        `portable` makes the model only of parts that other libraries have, for `regard export --to huggingface` and
        gguf; those of the default recipe learn faster, and leave as ONNX and torch.export programs.
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
    recipe: Literal["default", "portable"] = "default"

    @property
    def continues(self) -> bool:
        """Whether the folder holds a plan that is resumed."""
        return self.resume and (self.out / "config.yaml").exists()

    def changes(self) -> dict[str, Any]:
        """A budget on the command line replaces the recipe's own."""
        budget = {"steps": self.steps, "epochs": self.epochs, "minutes": self.minutes}
        settings: dict[str, Any] = {} if all(value is None for value in budget.values()) else {**budget, "min_steps": 0}
        if self.seed is not None:
            settings["seed"] = self.seed
        return {f"training.{name}": value for name, value in settings.items()}

    def train(self, plan: "Plan", changes: dict[str, Any] | None) -> int:
        """Settle the plan, then print it or train it; returns the exit code."""
        from regard.core.machine import COMMAND
        from regard.tasks.plan import settle
        from regard.tasks.training import train
        from regard.train import is_rank, run_as_ranks

        if self.recipe == "portable":
            from regard.tasks.portable import portable

            plan = portable(plan)
        plan = settle(plan, {**self.changes(), **(changes or {})}, self.out, self.resume)
        if self.show_settings:
            from regard.core.config import to_yaml

            print(to_yaml(plan), end="")
            return 0
        if self.processes != 1 and not is_rank():
            return run_as_ranks(self.processes, COMMAND.get() or ())
        report = train(plan, self.out, resume=self.resume, overwrite=self.overwrite)
        if report.stopped_by:
            log.info(f"{self.out}: stopped and saved at step {report.progress.step:,}; continue with --resume")
            return 128 + report.stopped_by
        log.info(plan.task.next_step(self.out))
        return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TextOptions(TrainOptions):
    """Options of verbs that train on text.

    Parameters
    ----------
    tokenizer
        A tokenizer.json to use; without it a tokenizer is trained on the data.
    """

    tokenizer: Path | None = None

    def changes(self) -> dict[str, Any]:
        tokenizer = {} if self.tokenizer is None else {"kind": "TokenizerFile", "file": str(self.tokenizer)}
        return super().changes() | ({"data.tokenizer": tokenizer} if tokenizer else {})


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CorpusOptions(TextOptions):
    """Options of verbs that train on running text.

    Parameters
    ----------
    data
        Text files: .txt, or .jsonl, .csv or .parquet with a field `text`; also compressed (.gz, .xz, .zst).
    valid
        Validation files; without them the last tenth of the data.
    columns
        Name of the text column, if it is not named text.
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
    """Nothing where nothing is named: a resumed run keeps its validation files."""
    return {"data.valid": [str(path) for path in valid]} if valid else {}


def columns_setting(columns: tuple[str, ...]) -> dict[str, Any]:
    return {"data.columns": list(columns)} if columns else {}


def tree_settings(trees: tuple[Path, ...], valid_trees: tuple[Path, ...]) -> dict[str, Any]:
    """Nothing where nothing is named: a resumed run keeps its own."""
    options = {"data.trees": trees, "data.valid_trees": valid_trees}
    return {name: [str(path) for path in paths] for name, paths in options.items() if paths}


def strings(paths: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(map(str, paths))
