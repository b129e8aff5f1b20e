"""The folder of a study. What has an outcome is never made again, so a study that was killed goes on where it was.

study.json                what was asked, and what was settled from it before the first run
plans/NAME-SEED.yaml      the plan of each run
runs/NAME-SEED/           the run folder of each run
outcomes/NAME-SEED.json   how each ended
logs/NAME-SEED.txt        what it said on the way
report.html, report.md, plots/
"""

import fcntl
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.core.config import from_dict, from_yaml, to_yaml
from regard.core.errors import UserError
from regard.core.files import open_here, read_json, write_text
from regard.recipes import Plan

SETTINGS = "study.json"
OURS = {SETTINGS, "plans", "runs", "outcomes", "logs", "plots", "data", "report.html", "report.md", ".lock"}
OURS |= {"prediction.json", "heads.json", "costs.json", "effects.json"}


@dataclass(frozen=True)
class Job:
    """One run of a study: a plan under a name, repeated with several seeds."""

    name: str
    seed: int
    plan: Plan

    @property
    def key(self) -> str:
        return f"{self.name}-{self.seed}"


@dataclass(frozen=True)
class Outcome:
    """How a run ended. One that diverged has no loss, and says why: that is a result too."""

    loss: float | None  # lowest on validation data, in nats
    steps: int
    seconds: float
    diverged: str | None = None
    right: float | None = None  # share of validation texts told exactly right, where that was asked


class StudyFolder:
    def __init__(self, path: Path):
        self.path = path
        self._lock: int | None = None

    def open(self, asked: Mapping[str, Any]) -> "StudyFolder":
        """Take the folder for a study that is new, or that was asked in the same words."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: is a file; a study needs a folder")
        self._refuse_foreign()
        self.path.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            self._agree(json.loads(json.dumps(dict(asked))))
        except UserError:
            self.__exit__()
            raise
        return self

    def _agree(self, wanted: Mapping[str, Any]) -> None:
        """Refuse a question other than that which the folder was taken for, once anything has come of it."""
        if not (self.path / SETTINGS).exists():
            self._write({"asked": wanted})
            return
        before = self._read().get("asked")
        begun = any((self.path / one).exists() for one in ("plans", "report.md"))
        if before != wanted and not begun:
            self._write({"asked": wanted})
        elif before != wanted:
            before = before if isinstance(before, dict) else {}
            if before.keys() != wanted.keys():
                raise UserError(f"{self.path}: holds a study of another kind; choose another folder")
            key = next((key for key in {**before, **wanted} if before.get(key) != wanted.get(key)), "asked")
            raise UserError(
                f"{self.path}: holds a study with {key} {before.get(key)!r}, not {wanted.get(key)!r}; "
                "repeat its command to go on, or choose another folder"
            )

    def __enter__(self) -> "StudyFolder":
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def settled(self, name: str, settle: Callable[[], Any]) -> Any:
        """What `settle` gives, asked once: a study that goes on must not choose anew."""
        known = dict(self._read())
        if name not in known:
            known[name] = json.loads(json.dumps(settle()))
            self._write(known)
        return known[name]

    def knows(self, name: str) -> bool:
        return name in self._read()

    # Runs

    def add(self, job: Job) -> None:
        place = self.path / "plans" / f"{job.key}.yaml"
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            write_text(place, to_yaml(job.plan))

    def plan(self, key: str) -> Plan:
        return from_yaml(Plan, self.path / "plans" / f"{key}.yaml")

    def run(self, key: str) -> Path:
        return self.path / "runs" / key

    def log(self, key: str) -> Path:
        return self.path / "logs" / f"{key}.txt"

    def outcome(self, key: str) -> Outcome | None:
        place = self.path / "outcomes" / f"{key}.json"
        if not place.exists():
            return None
        found: Outcome = from_dict(Outcome, read_json(place), str(place))
        return found

    def waiting(self, jobs: Sequence[Job]) -> list[Job]:
        return [job for job in jobs if self.outcome(job.key) is None]

    def end(self, key: str, outcome: Outcome) -> None:
        place = self.path / "outcomes" / f"{key}.json"
        place.parent.mkdir(exist_ok=True)
        write_text(place, json.dumps(asdict(outcome), indent=1))

    # Holding the folder

    def _refuse_foreign(self) -> None:
        if not self.path.exists():
            return
        foreign = sorted(c.name for c in self.path.iterdir() if c.name not in OURS and not c.name.endswith(".part"))
        if foreign:
            raise UserError(f"{self.path}: holds {foreign[0]!r}, which is not a study's; choose an empty or new folder")

    def _take_lock(self) -> None:
        lock = open_here(self.path / ".lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise UserError(f"{self.path}: another process is making this study; wait or end it") from None
        self._lock = lock

    def _read(self) -> Mapping[str, Any]:
        return read_json(self.path / SETTINGS)

    def _write(self, settings: Mapping[str, Any]) -> None:
        write_text(self.path / SETTINGS, json.dumps(dict(settings), indent=1))
