"""The folder of a study. A run with an outcome is never repeated, so a study that was killed resumes where it was.

study.json                the settings, and what was measured and computed from them before the first run
plans/NAME-SEED.yaml      the plan of each run
runs/NAME-SEED/           the run folder of each run
outcomes/NAME-SEED.json   how each run ended
logs/NAME-SEED.txt        what each run printed
report.html, report.md, plots/
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.core.config import from_dict, from_yaml, to_yaml
from regard.core.errors import UserError
from regard.core.files import read_json, write_text
from regard.core.system import open_no_follow, try_lock
from regard.tasks.plan import Plan

STUDY = "study.json"
FILES = {STUDY, "plans", "runs", "outcomes", "logs", "plots", "data", "report.html", "report.md", ".lock"}
FILES |= {"prediction.json", "heads.json", "costs.json", "effects.json"}


@dataclass(frozen=True)
class Job:
    """One run of a study: a named plan with one seed."""

    name: str
    seed: int
    plan: Plan

    @property
    def key(self) -> str:
        return f"{self.name}-{self.seed}"


@dataclass(frozen=True)
class Outcome:
    """How a run ended. Divergence is a result too: no loss, but a reason."""

    loss: float | None  # lowest validation loss
    steps: int
    seconds: float
    diverged: str | None = None
    exact_match: float | None = None  # fraction of validation texts answered exactly, if requested


class StudyFolder:
    def __init__(self, path: Path):
        self.path = path
        self._lock: int | None = None

    def open(self, settings: Mapping[str, Any]) -> "StudyFolder":
        """Lock the folder for a new study, or for one with the same settings."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; --out must be a folder")
        self._refuse_foreign()
        self.path.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            self._check_settings(json.loads(json.dumps(dict(settings))))
        except UserError:
            self.__exit__()
            raise
        return self

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse other settings than those that the folder's runs were made with."""
        if not (self.path / STUDY).exists():
            self._write({"settings": settings})
            return
        before = self._read().get("settings")
        has_runs = any((self.path / name).exists() for name in ("plans", "report.md"))
        if before != settings and not has_runs:
            self._write({"settings": settings})
        elif before != settings:
            before = before if isinstance(before, dict) else {}
            if before.keys() != settings.keys():
                raise UserError(f"{self.path}: holds a study of another kind; choose another folder")
            key = next(key for key in settings if before.get(key) != settings.get(key))
            raise UserError(
                f"{self.path}: holds a study with {key} {before.get(key)!r}, not {settings.get(key)!r}; "
                "repeat its command to resume it, or choose another folder"
            )

    def __enter__(self) -> "StudyFolder":
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def cached(self, name: str, compute: Callable[[], Any]) -> Any:
        """The value of `compute`, computed once per study: a resumed study must not decide again."""
        values = dict(self._read())
        if name not in values:
            values[name] = json.loads(json.dumps(compute()))
            self._write(values)
        return values[name]

    def has(self, name: str) -> bool:
        return name in self._read()

    # Runs

    def add(self, job: Job) -> None:
        path = self.path / "plans" / f"{job.key}.yaml"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            write_text(path, to_yaml(job.plan))

    def plan(self, key: str) -> Plan:
        return from_yaml(Plan, self.path / "plans" / f"{key}.yaml")

    def run(self, key: str) -> Path:
        return self.path / "runs" / key

    def log(self, key: str) -> Path:
        return self.path / "logs" / f"{key}.txt"

    def outcome(self, key: str) -> Outcome | None:
        path = self.path / "outcomes" / f"{key}.json"
        if not path.exists():
            return None
        outcome: Outcome = from_dict(Outcome, read_json(path), str(path))
        return outcome

    def pending(self, jobs: Sequence[Job]) -> list[Job]:
        return [job for job in jobs if self.outcome(job.key) is None]

    def write_outcome(self, key: str, outcome: Outcome) -> None:
        path = self.path / "outcomes" / f"{key}.json"
        path.parent.mkdir(exist_ok=True)
        write_text(path, json.dumps(asdict(outcome), indent=1))

    # The folder itself

    def _refuse_foreign(self) -> None:
        if not self.path.exists():
            return
        foreign = sorted(c.name for c in self.path.iterdir() if c.name not in FILES and not c.name.endswith(".part"))
        if foreign:
            raise UserError(f"{self.path}: holds {foreign[0]!r}, which is not part of a study; choose a new folder")

    def _take_lock(self) -> None:
        lock = open_no_follow(self.path / ".lock", os.O_RDWR)
        if not try_lock(lock):
            os.close(lock)
            raise UserError(f"{self.path}: another process is running this study; wait for it or stop it")
        self._lock = lock

    def _read(self) -> Mapping[str, Any]:
        return read_json(self.path / STUDY)

    def _write(self, values: Mapping[str, Any]) -> None:
        write_text(self.path / STUDY, json.dumps(dict(values), indent=1))
