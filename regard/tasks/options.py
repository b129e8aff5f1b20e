"""Options of the training verbs, and what the verbs have in common. Nothing heavy is imported before a verb runs."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
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
    init
        Fine-tune a pre-trained model: another run, a Hugging Face folder or the name of one in the local cache, or a
        PEFT folder. With --adapter LoRA only a small adapter is trained, and --adapter.rank sets its size.
    log
        `tensorboard` also writes what is logged as event files, into the folder tensorboard of the run.
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
    init: Path | None = None
    log: Literal["tensorboard"] | None = None
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

    def train(self, plan: "Plan", changes: dict[str, Any] | None, reasons: Mapping[str, str] | None = None) -> int:
        """Settle the plan, then print it or train it; returns the exit code. `reasons` say why settings were chosen."""
        from regard.core.machine import COMMAND
        from regard.tasks.plan import settle
        from regard.tasks.training import train
        from regard.train import TensorBoard, is_rank, run_as_ranks

        if self.recipe == "portable":
            from regard.tasks.portable import portable

            plan = portable(plan)
        changes = {**self.changes(), **(changes or {})}
        if self.init is not None:
            from regard.tasks.pretrained import adapter_named, finetuned, same_init

            if self.continues:
                changes["init"] = same_init(self.init, self.out)
            else:
                plan = finetuned(plan, self.init, adapted=adapter_named(changes))
        plan = settle(plan, changes, self.out, self.resume)
        lines = [line for key, line in (reasons or {}).items() if not any(_concerns(one, key) for one in changes)]
        if self.show_settings:
            from regard.core.config import to_yaml

            print("".join(f"# {line}\n" for line in lines) + to_yaml(plan), end="")
            return 0
        for line in [] if is_rank() else lines:
            log.info(line)
        if self.processes != 1 and not is_rank():
            return run_as_ranks(self.processes, COMMAND.get() or ())
        with ExitStack() as stack:
            callbacks = [stack.enter_context(TensorBoard(self.out / "tensorboard"))] if self.log else []
            report = train(plan, self.out, resume=self.resume, overwrite=self.overwrite, callbacks=callbacks)
        if report.stopped_by:
            log.info(f"{self.out}: stopped and saved at step {report.progress.step:,}; continue with --resume")
            return 128 + report.stopped_by
        log.info(plan.task.next_step(self.out))
        return 0


def _concerns(change: str, setting: str) -> bool:
    """Whether a user's change is of a setting, of a part of it, or of what it is part of."""
    return f"{change}.".startswith(f"{setting}.") or f"{setting}.".startswith(f"{change}.")


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
        Text files: .txt, or .jsonl, .csv or .parquet with a field `text`; also compressed (.gz, .xz, .zst); or folders
        of them. Each record is a document, and of several plain files each one.
    valid
        Validation files; without them a tenth of the documents, or the last tenth of running text.
    columns
        Name of the text column, if it is not named text.
    separator
        Text between the documents of a plain file, such as '<|endoftext|>' or '\\n\\n'.
    """

    data: tuple[Path, ...]
    valid: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()
    separator: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(map(str, self.data))

    def changes(self) -> dict[str, Any]:
        separator = {} if self.separator is None else {"data.separator": _unescaped(self.separator)}
        return super().changes() | valid_setting(self.valid) | columns_setting(self.columns) | separator


def _unescaped(text: str) -> str:
    """Line ends and tabs, which are hard to type in a shell, may be written \\n and \\t."""
    return text.replace("\\n", "\n").replace("\\t", "\t")


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
