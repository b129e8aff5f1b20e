"""Runs side by side: one process a core with one thread each, so that they do not slow each other."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from regard.core.errors import UserError, at_least
from regard.core.machine import usable_cores
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.train.display import clock

PAUSE = 0.05  # seconds between looks at the processes
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM"), "1")
Say = Callable[[str], None]


class StoppedError(UserError):
    """Somebody asked the study to stop; its runs have saved what they had."""

    def __init__(self, folder: StudyFolder, number: int):
        super().__init__(f"{folder.path}: stopped; repeat the command to go on")
        self.exit_code = 128 + number


def run_jobs(
    folder: StudyFolder, jobs: Sequence[Job], processes: int | None, say: Say, *, right: bool = False
) -> dict[str, Outcome]:
    """Make every run that has no outcome yet; gives the outcomes of all by key, in the order of the jobs."""
    at_least(1, processes=processes)
    for job in jobs:
        folder.add(job)
    waiting = folder.waiting(jobs)
    if len(waiting) < len(jobs):
        say(f"{len(jobs) - len(waiting)} of {len(jobs)} runs have ended before")
    _run(folder, waiting, min(processes or usable_cores(), max(1, len(waiting))), say, right)
    found = {job.key: folder.outcome(job.key) for job in jobs}
    return {key: outcome for key, outcome in found.items() if outcome is not None}


def _run(folder: StudyFolder, waiting: list[Job], processes: int, say: Say, right: bool) -> None:
    running: dict[str, subprocess.Popen[bytes]] = {}
    left, ended, told, began = list(waiting), 0, 0, time.monotonic()
    with _stopping(running) as asked:
        while left or running:
            while left and len(running) < processes and not asked:
                job = left.pop(0)
                running[job.key] = _start(folder, job.key, right)
            # Here and not where the signal is heard: that may be before a run that was just started is among these.
            while told < len(asked):
                told += 1
                for process in running.values():
                    process.terminate()
            for key in [key for key, process in running.items() if process.poll() is not None]:
                code = running.pop(key).returncode
                if not asked:
                    _check(folder, key, code)
                ended += 1
                say(_line(folder, key, ended, len(waiting), time.monotonic() - began))
            if asked and not running:
                raise StoppedError(folder, asked[0])
            time.sleep(PAUSE)


def _start(folder: StudyFolder, key: str, right: bool) -> subprocess.Popen[bytes]:
    log = folder.log(key)
    log.parent.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "regard", "study", "work", str(folder.path), key, *(["--right"] if right else [])]
    with log.open("ab") as out:
        # In a group of its own a run hears Ctrl-C once, from here; a second would end it before it saves.
        return subprocess.Popen(
            words, env=_environment(), stdin=subprocess.PIPE, stdout=out, stderr=out, process_group=0
        )


def _environment() -> Mapping[str, str]:
    return {**os.environ, **ONE_THREAD}


def _check(folder: StudyFolder, key: str, code: int) -> None:
    if folder.outcome(key) is None:
        said = folder.log(key).read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["nothing"]
        raise UserError(f"{folder.path}: run {key} failed ({code}), saying: {said[-1].removeprefix('regard: ')}")


def _line(folder: StudyFolder, key: str, ended: int, of: int, seconds: float) -> str:
    outcome = folder.outcome(key)
    told = "stopped" if outcome is None else "diverged" if outcome.loss is None else f"loss {outcome.loss:.4f}"
    return f"[{ended}/{of}] {key}: {told}; about {clock(seconds / ended * (of - ended))} left"


@contextmanager
def _stopping(running: Mapping[str, subprocess.Popen[bytes]]) -> Iterator[list[int]]:
    """The signals by which the study was asked to stop; whatever happens, none of its runs outlives it."""
    asked: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for process in running.values():
            process.kill()
            process.wait()
