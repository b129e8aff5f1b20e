"""Writing a run folder: one process at a time, files that are complete or absent, checkpoints. It is a `Keeper`."""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from regard.core import tensors
from regard.core.config import read_yaml
from regard.core.errors import ConfigError, UserError
from regard.core.files import (
    atomic_folder,
    check_folder,
    read_json,
    remove_folder,
    write_text,
)
from regard.core.system import open_no_follow, try_lock
from regard.store.metrics import METRICS, forget_metrics_after, log_metrics
from regard.train.keeper import Checkpoint
from regard.train.tensorboard import Callback

CONFIG, WEIGHTS, TOKENIZER = "config.yaml", "model.safetensors", "tokenizer.json"
CARD = "card.md"
COLUMNS, KEYS, TABLE = "columns.json", "keys.json", "table.safetensors"
NGRAMS = "ngrams.safetensors"
EXTRACTOR = "extractor.safetensors"
BASE, ORIGIN = "base.json", "origin"
# A tokenizer saves these; they are named here so that tables need not import tokenizers.
SPECIAL_TOKENS, TARGET_TOKENIZER = "special_tokens.json", "target_tokenizer.json"
CHECKPOINT = ("weights.safetensors", "optimiser.safetensors", "progress.json")


OURS = {
    CONFIG, WEIGHTS, TOKENIZER, METRICS, COLUMNS, KEYS, TABLE, NGRAMS, EXTRACTOR, "checkpoints", "tokens", "images",
    CARD, "loss.png", "alignment.png", "tensorboard", ".lock", BASE, ORIGIN, SPECIAL_TOKENS, TARGET_TOKENIZER,
}  # fmt: skip


class RunFolder:
    """A run folder that is being written; only one process may, and it holds the lock until it ends."""

    def __init__(self, path: Path, callbacks: Sequence[Callback] = ()):
        self.path, self.callbacks = path, callbacks
        self._lock: int | None = None

    @property
    def title(self) -> str:
        return str(self.path)

    def open(self, *, resume: bool = False, overwrite: bool = False) -> "RunFolder":
        """Make or take the folder for writing; refuses what would lose or mix results."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; a run needs a folder")
        if resume and overwrite:
            raise ConfigError("--resume and --overwrite: choose one of them")
        try:
            self._refuse_foreign(resume)
            self.path.mkdir(parents=True, exist_ok=True)
            self._take_lock()
        except PermissionError:
            raise UserError(f"{self.path}: is not writable; choose another folder") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be made ({error.strerror})") from None
        if (self.path / CONFIG).exists() and not (resume or overwrite):
            self.__exit__()
            raise UserError(
                f"{self.path}: already holds a run; go on with --resume, replace it with --overwrite, "
                "or choose another folder"
            )
        self._sweep()
        if (self.path / CONFIG).exists() and overwrite:
            self._clear()
        return self

    def check_free(self, *, overwrite: bool, instead: str = "") -> None:
        """Refuse, before any work is done that would be lost, a folder that cannot be taken for a new run.

        `instead` is what else could be done with the run that it holds.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; a run needs a folder")
        there = next(folder for folder in (self.path, *self.path.absolute().parents) if folder.exists())
        if not os.access(there, os.W_OK):
            raise UserError(f"{self.path}: is not writable; choose another folder")
        self._refuse_foreign()
        if (self.path / CONFIG).exists() and not overwrite:
            remedy = f"{instead}replace it with --overwrite, or choose another folder"
            raise UserError(f"{self.path}: already holds a run; {remedy}")

    def _refuse_foreign(self, resume: bool = False) -> None:
        """A folder with anything in it that is not a run's is somebody's, and stays as it is.

        Who goes on with a run may have put things beside it, which are left alone.
        """
        if not self.path.exists():
            return
        foreign = sorted(c.name for c in self.path.iterdir() if c.name not in OURS and not c.name.endswith(".part"))
        if resume:
            foreign = []
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
        folders = (self.path / "checkpoints").glob("step-*")
        return sorted(path for path in folders if re.fullmatch(r"step-\d{9,}", path.name) and path.is_dir())

    def save_checkpoint(self, checkpoint: Checkpoint, keep: int) -> None:
        place = self.path / "checkpoints" / f"step-{checkpoint.progress['step']:09d}"
        if place.exists():  # resumed from it, and no step was taken since
            return
        with atomic_folder(place) as folder:
            tensors.save_in_folder(folder / "weights.safetensors", checkpoint.weights)
            tensors.save_in_folder(folder / "optimiser.safetensors", checkpoint.optimiser)
            if checkpoint.ema is not None:
                tensors.save_in_folder(folder / "ema.safetensors", checkpoint.ema)
            (folder / "progress.json").write_text(json.dumps(dict(checkpoint.progress), indent=1), encoding="utf-8")
        for old in self.checkpoints()[:-keep]:
            remove_folder(old)

    def load_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint, or None where there is none yet. A damaged one is an error, never passed over."""
        checkpoints = self.checkpoints()
        if not checkpoints:
            return None
        newest = checkpoints[-1]
        try:
            check_folder(newest, CHECKPOINT)
        except UserError as error:
            intact = next((other for other in reversed(checkpoints[:-1]) if _is_intact(other)), None)
            raise UserError(
                f"{error}; remove {newest} to go on from {intact.name if intact else 'the start'}"
            ) from None
        ema = newest / "ema.safetensors"
        return Checkpoint(
            read_json(newest / "progress.json"),
            tensors.load(newest / "weights.safetensors"),
            tensors.load(newest / "optimiser.safetensors"),
            tensors.load(ema) if ema.exists() else None,
        )

    # Metrics

    def log(self, **values: Any) -> None:
        log_metrics(self.path, values)
        for callback in self.callbacks:
            callback(values)

    def forget_metrics_after(self, step: int) -> None:
        forget_metrics_after(self.path, step)

    # Holding the folder

    def _take_lock(self) -> None:
        lock = open_no_follow(self.path / ".lock", os.O_RDWR)
        if not try_lock(lock):
            owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise UserError(f"{self.path}: is being written by another process ({owner}); wait or end it")
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


def _is_intact(checkpoint: Path) -> bool:
    try:
        check_folder(checkpoint, CHECKPOINT)
    except UserError:
        return False
    return True
