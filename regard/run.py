"""The run folder: the one artefact. Training writes it, every other verb reads it.

config.yaml          task, model, training and data settings; versions, threads, seed, command
tokenizer.json       where there is text
model.safetensors    the best weights
checkpoints/step-…/  weights, optimiser, progress; complete or absent, with a sha256 manifest
metrics.jsonl        a line a log step
card.md              what it is, on what data, its scores, the command that made it
"""

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import yaml
from torch import Tensor, nn

from regard.core import tensors
from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError, UserError
from regard.core.files import check_folder, read_json, whole_folder, write_text
from regard.models import Model
from regard.tasks import Task
from regard.tasks.translate import translate
from regard.text import Tokenizer

CONFIG, WEIGHTS, TOKENIZER, METRICS = "config.yaml", "model.safetensors", "tokenizer.json", "metrics.jsonl"


@dataclass(frozen=True)
class Checkpoint:
    """All that training needs to go on as if it had never stopped."""

    progress: Mapping[str, Any]  # step, seconds, best score, …
    weights: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    average: Mapping[str, Tensor] | None = None


class RunFolder:
    """A run folder that is being written; only one process may, and it holds the lock until it ends."""

    def __init__(self, path: Path):
        self.path = path
        self._lock: TextIO | None = None

    def open(self, *, resume: bool = False, overwrite: bool = False) -> "RunFolder":
        """Make or take the folder for writing; refuses what would lose or mix results."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; a run needs a folder")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._take_lock()
        except PermissionError:
            raise UserError(f"{self.path}: is not writable; choose another folder") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be made ({error.strerror})") from None
        holds_run = (self.path / CONFIG).exists()
        if holds_run and overwrite:
            self._clear()
        elif holds_run and not resume:
            raise UserError(f"{self.path}: already holds a run; go on with --resume, or choose another folder")
        elif not holds_run and any(child.name != ".lock" for child in self.path.iterdir()):
            raise UserError(f"{self.path}: holds other files; choose an empty or new folder")
        self._sweep()
        return self

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        """Let the folder go, for another process to take."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def write_config(self, config: Mapping[str, Any]) -> None:
        write_text(self.path / CONFIG, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))

    def write_weights(self, weights: Mapping[str, Tensor]) -> None:
        tensors.save(self.path / WEIGHTS, weights)

    @property
    def has_weights(self) -> bool:
        return (self.path / WEIGHTS).exists()

    # Checkpoints

    def checkpoints(self) -> list[Path]:
        """Complete checkpoints, oldest first."""
        return sorted((self.path / "checkpoints").glob("step-*"))

    def save_checkpoint(self, checkpoint: Checkpoint, keep: int) -> None:
        place = self.path / "checkpoints" / f"step-{checkpoint.progress['step']:09d}"
        if place.exists():  # resumed from it, and no step was taken since
            return
        with whole_folder(place) as folder:
            tensors.save(folder / "weights.safetensors", checkpoint.weights)
            tensors.save(folder / "optimiser.safetensors", checkpoint.optimiser)
            if checkpoint.average is not None:
                tensors.save(folder / "average.safetensors", checkpoint.average)
            (folder / "progress.json").write_text(json.dumps(dict(checkpoint.progress), indent=1), encoding="utf-8")
        for old in self.checkpoints()[:-keep]:
            shutil.rmtree(old)

    def load_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint, or None where there is none yet. A damaged one is an error, never passed over."""
        found = self.checkpoints()
        if not found:
            return None
        newest = found[-1]
        try:
            check_folder(newest)
        except UserError as error:
            other = f"; remove {newest} to go on from {found[-2].name}" if len(found) > 1 else ""
            raise UserError(f"{error}{other}") from None
        average = newest / "average.safetensors"
        return Checkpoint(
            read_json(newest / "progress.json"),
            tensors.load(newest / "weights.safetensors"),
            tensors.load(newest / "optimiser.safetensors"),
            tensors.load(average) if average.exists() else None,
        )

    # Metrics

    def log(self, **values: Any) -> None:
        with (self.path / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")

    def forget_metrics_after(self, step: int) -> None:
        """What was logged after the checkpoint will be logged again."""
        kept = [line for line in read_metrics(self.path) if line["step"] <= step]
        write_text(self.path / METRICS, "".join(json.dumps(line) + "\n" for line in kept))

    # Holding the folder

    def _take_lock(self) -> None:
        lock = (self.path / ".lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            lock.close()
            raise UserError(f"{self.path}: is being written by another process ({owner}); wait or end it") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def _clear(self) -> None:
        for child in self.path.iterdir():
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            elif child.name != ".lock":
                child.unlink()

    def _sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for half in (*self.path.glob(".*.part"), *self.path.glob("checkpoints/.*.part")):
            shutil.rmtree(half) if half.is_dir() else half.unlink()


def read_config(path: Path) -> dict[str, Any]:
    file = path / CONFIG
    if not path.is_dir():
        raise UserError(f"{path}: there is no such run folder")
    if not file.exists():
        raise UserError(f"{path}: is not a run folder (it has no {CONFIG})")
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read ({str(error).splitlines()[-1].strip()})") from None
    if not isinstance(config, dict):
        raise UserError(f"{file}: holds no settings")
    return config


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Every logged line; a last line that a kill cut short is left out."""
    lines = []
    if (path / METRICS).exists():
        for text in (path / METRICS).read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                continue
    return lines


@dataclass(frozen=True)
class Run:
    """A trained model ready to use: a run folder, or a folder of another library, once loaded."""

    path: Path
    config: Model
    model: nn.Module
    task: Task | None = None
    tokenizer: Tokenizer | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # what another library's folder says beside the model

    def translate(self, texts: list[str], longest: int = 256) -> list[str]:
        if self.tokenizer is None or not hasattr(self.model, "begin"):
            raise UserError(f"{self.path}: holds a {type(self.config).__name__}, which does not translate")
        return translate(self.model, self.tokenizer, texts, longest)


def save_run(
    path: Path, config: Model, model: nn.Module, task: Task | None = None, tokenizer: Tokenizer | None = None
) -> None:
    """A model made in Python as a run folder that every verb takes."""
    with RunFolder(path).open() as folder:
        folder.write_config({"task": to_dict(task), "model": to_dict(config)})
        folder.write_weights(model.state_dict())
        if tokenizer is not None:
            tokenizer.save(path / TOKENIZER)


def load_run(path: Path) -> Run:
    """A run folder as a model in evaluation mode with its best weights."""
    settings = read_config(path)
    try:
        config = from_dict(Model, settings.get("model"), "model")
        task = from_dict(Task | None, settings.get("task"), "task")
    except ConfigError as error:
        raise ConfigError(f"{path / CONFIG}: {error}") from None
    if not (path / WEIGHTS).exists():
        raise UserError(f"{path}: has no {WEIGHTS} yet; let training reach its first check, or go on with --resume")
    model = config.build()
    set_weights(model, tensors.load(path / WEIGHTS), path / WEIGHTS)
    tokenizer = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
    return Run(path, config, model.eval(), task, tokenizer)


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    """Strictly: a missing, extra or misshapen tensor is listed by name."""
    needed = model.state_dict()
    wrong = [f"{name} is missing" for name in needed.keys() - weights.keys()]
    wrong += [f"{name} is not in the model" for name in weights.keys() - needed.keys()]
    wrong += [
        f"{name} is {tuple(weights[name].shape)}, not {tuple(needed[name].shape)}"
        for name in needed.keys() & weights.keys()
        if weights[name].shape != needed[name].shape
    ]
    if wrong:
        raise UserError(f"{source}: does not fit the config: {'; '.join(sorted(wrong)[:8])}")
    model.load_state_dict(dict(weights))
