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
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor, nn

from regard.core import tensors
from regard.core.config import from_dict, read_yaml, to_dict
from regard.core.errors import ConfigError, UserError, at_least
from regard.core.files import (
    check_folder,
    explain_full_disk,
    open_here,
    read_json,
    remove_folder,
    whole_folder,
    write_text,
)
from regard.decode import Sampling
from regard.models import GPT, RNN, Model, Transformer
from regard.tasks import Task
from regard.tasks.language import generate
from regard.tasks.translate import translate
from regard.text import Tokenizer

CONFIG, WEIGHTS, TOKENIZER, METRICS = "config.yaml", "model.safetensors", "tokenizer.json", "metrics.jsonl"
CHECKPOINT = ("weights.safetensors", "optimiser.safetensors", "progress.json")


@dataclass(frozen=True)
class Checkpoint:
    """All that training needs to go on as if it had never stopped."""

    progress: Mapping[str, Any]  # step, seconds, best score, …
    weights: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    average: Mapping[str, Tensor] | None = None


OURS = {
    CONFIG, WEIGHTS, TOKENIZER, METRICS, "checkpoints", "tokens", "card.md", "loss.png", "alignment.png", ".lock",
}  # fmt: skip


class RunFolder:
    """A run folder that is being written; only one process may, and it holds the lock until it ends."""

    def __init__(self, path: Path):
        self.path = path
        self._lock: int | None = None

    def open(self, *, resume: bool = False, overwrite: bool = False) -> "RunFolder":
        """Make or take the folder for writing; refuses what would lose or mix results."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; a run needs a folder")
        if resume and overwrite:
            raise ConfigError("--resume and --overwrite: choose one of them")
        try:
            self._refuse_foreign()
            self.path.mkdir(parents=True, exist_ok=True)
            self._take_lock()
        except PermissionError:
            raise UserError(f"{self.path}: is not writable; choose another folder") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be made ({error.strerror})") from None
        self._sweep()
        if (self.path / CONFIG).exists() and overwrite:
            self._clear()
        elif (self.path / CONFIG).exists() and not resume:
            raise UserError(
                f"{self.path}: already holds a run; go on with --resume, replace it with --overwrite, "
                "or choose another folder"
            )
        return self

    def _refuse_foreign(self) -> None:
        """A folder with anything in it that is not a run's is somebody's, and stays as it is."""
        if not self.path.exists():
            return
        foreign = sorted(c.name for c in self.path.iterdir() if c.name not in OURS and not c.name.endswith(".part"))
        if not foreign and (self.path / CONFIG).exists() and "model" not in read_config(self.path):
            foreign = [CONFIG]
        if foreign:
            raise UserError(f"{self.path}: holds {foreign[0]!r}, which is not a run's; choose an empty or new folder")

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        """Let the folder go, for another process to take."""
        if self._lock is not None:
            os.close(self._lock)
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
        found = (self.path / "checkpoints").glob("step-*")
        return sorted(path for path in found if re.fullmatch(r"step-\d{9,}", path.name) and path.is_dir())

    def save_checkpoint(self, checkpoint: Checkpoint, keep: int) -> None:
        place = self.path / "checkpoints" / f"step-{checkpoint.progress['step']:09d}"
        if place.exists():  # resumed from it, and no step was taken since
            return
        with whole_folder(place) as folder:
            tensors.save_in_folder(folder / "weights.safetensors", checkpoint.weights)
            tensors.save_in_folder(folder / "optimiser.safetensors", checkpoint.optimiser)
            if checkpoint.average is not None:
                tensors.save_in_folder(folder / "average.safetensors", checkpoint.average)
            (folder / "progress.json").write_text(json.dumps(dict(checkpoint.progress), indent=1), encoding="utf-8")
        for old in self.checkpoints()[:-keep]:
            remove_folder(old)

    def load_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint, or None where there is none yet. A damaged one is an error, never passed over."""
        found = self.checkpoints()
        if not found:
            return None
        newest = found[-1]
        try:
            check_folder(newest, CHECKPOINT)
        except UserError as error:
            whole = next((other for other in reversed(found[:-1]) if _is_whole(other)), None)
            raise UserError(f"{error}; remove {newest} to go on from {whole.name if whole else 'the start'}") from None
        average = newest / "average.safetensors"
        return Checkpoint(
            read_json(newest / "progress.json"),
            tensors.load(newest / "weights.safetensors"),
            tensors.load(newest / "optimiser.safetensors"),
            tensors.load(average) if average.exists() else None,
        )

    # Metrics

    def log(self, **values: Any) -> None:
        """A line of measurements; what is not finite is null, which every reader of JSON knows."""
        known = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
        file = self.path / METRICS
        with explain_full_disk(file), open(open_here(file, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as out:
            out.write(json.dumps(known, allow_nan=False) + "\n")

    def forget_metrics_after(self, step: int) -> None:
        """What was logged after the checkpoint will be logged again."""
        kept = [line for line in read_metrics(self.path) if line["step"] <= step]
        write_text(self.path / METRICS, "".join(json.dumps(line) + "\n" for line in kept))

    # Holding the folder

    def _take_lock(self) -> None:
        lock = open_here(self.path / ".lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise UserError(f"{self.path}: is being written by another process ({owner}); wait or end it") from None
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        self._lock = lock

    def _clear(self) -> None:
        """Remove the run, its config last: a kill in between leaves a folder that is still known as a run."""
        for name in sorted(OURS - {".lock"}, key=lambda name: name == CONFIG):
            child = self.path / name
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            else:
                child.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for half in (*self.path.glob(".*.part"), *self.path.glob("checkpoints/.*.part")):
            shutil.rmtree(half) if half.is_dir() else half.unlink()


def read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise UserError(f"{path}: there is no such run folder")
    if not (path / CONFIG).exists():
        raise UserError(f"{path}: is not a run folder (it has no {CONFIG})")
    config = read_yaml(path / CONFIG)
    if not isinstance(config, dict):
        raise UserError(f"{path / CONFIG}: holds no settings")
    return config


def _is_whole(checkpoint: Path) -> bool:
    try:
        check_folder(checkpoint, CHECKPOINT)
    except UserError:
        return False
    return True


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Every logged line; a last line that a kill cut short is left out, and so is whatever is not a measurement."""
    lines = []
    if (path / METRICS).exists():
        for text in (path / METRICS).read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and isinstance(line.get("step"), int):
                lines.append(line)
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
        if not isinstance(self.config, Transformer | RNN):
            raise UserError(f"{self.path}: holds a {type(self.config).__name__}, which does not translate")
        if self.tokenizer is None:
            raise UserError(f"{self.path}: has no {TOKENIZER} that regard can use, so it translates tokens but no text")
        at_least(1, longest=longest)
        return translate(self.model, self.tokenizer, texts, longest)

    def generate(
        self, prompt: str = "", tokens: int = 200, sampling: Sampling = Sampling(), stop: tuple[str, ...] = ()
    ) -> Iterator[str]:
        """The text that follows `prompt`, in pieces as they come."""
        if not isinstance(self.config, GPT) or self.tokenizer is None:
            raise UserError(f"{self.path}: holds no language model with a tokenizer, so it writes no text of its own")
        return generate(self.model, self.tokenizer, prompt, tokens, sampling, stop)


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
    weights = tensors.load(path / WEIGHTS)
    with torch.device("meta"):  # a config of absurd size must not take all memory before it is refused
        check_weights(config.build(), weights, path / WEIGHTS)
    model = config.build()
    model.load_state_dict(weights)
    tokenizer = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
    vocab = getattr(config, "vocab", None)
    if tokenizer is not None and vocab is not None and tokenizer.vocab > vocab:
        raise UserError(f"{path / TOKENIZER}: has {tokenizer.vocab} tokens, the model only {vocab}")
    return Run(path, config, model.eval(), task, tokenizer)


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    check_weights(model, weights, source)
    model.load_state_dict(dict(weights))


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    """Strictly: a missing, extra or misshapen tensor is listed by name."""
    needed = model.state_dict()
    wrong = [f"{name} is missing" for name in needed.keys() - weights.keys()]
    wrong += [f"{name} is not in the model" for name in weights.keys() - needed.keys()]
    for name in needed.keys() & weights.keys():
        have, want = weights[name], needed[name]
        if have.shape != want.shape:
            wrong.append(f"{name} is {tuple(have.shape)}, not {tuple(want.shape)}")
        elif have.is_floating_point() != want.is_floating_point() or have.is_complex():
            wrong.append(f"{name} holds {have.dtype}, not {want.dtype}")
    if wrong:
        raise UserError(f"{source}: does not fit the config: {'; '.join(sorted(wrong)[:8])}")
