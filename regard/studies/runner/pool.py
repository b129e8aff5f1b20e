"""The job pool: runs in parallel, one single-threaded process per core."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from regard.core.errors import UserError, at_least
from regard.core.machine import usable_cores
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.train.display import clock

log = logging.getLogger(__name__)
POLL_SECONDS = 0.05
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM"), "1")


class StoppedError(UserError):
    """The study was stopped by a signal; its runs have saved their state."""

    def __init__(self, folder: StudyFolder, number: int):
        super().__init__(f"{folder.path}: stopped; repeat the command to resume")
        self.exit_code = 128 + number


def run_jobs(
    folder: StudyFolder, jobs: Sequence[Job], processes: int | None, *, exact_match: bool = False, eta: bool = True
) -> dict[str, Outcome]:
    """Make every run without an outcome; returns the outcomes of all by key, in the order of the jobs.

    `exact_match` also measures the fraction of validation texts answered exactly; `eta` logs the remaining time.
    """
    at_least(1, processes=processes)
    for job in jobs:
        folder.add(job)
    pending = folder.pending(jobs)
    if len(pending) < len(jobs):
        log.info("%d of %d runs were complete before", len(jobs) - len(pending), len(jobs))
    _run(folder, pending, min(processes or usable_cores(), max(1, len(pending))), exact_match, eta)
    outcomes = {job.key: folder.outcome(job.key) for job in jobs}
    return {key: outcome for key, outcome in outcomes.items() if outcome is not None}


def _run(folder: StudyFolder, pending: list[Job], processes: int, exact_match: bool, eta: bool) -> None:
    running: dict[str, subprocess.Popen[bytes]] = {}
    queue, ended, forwarded, start = list(pending), 0, 0, time.monotonic()
    with _stop_signals(running) as signals:
        while queue or running:
            while queue and len(running) < processes and not signals:
                job = queue.pop(0)
                running[job.key] = _start(folder, job.key, exact_match)
            # Not in the signal handler, which may run before a process that was just started is in the dictionary.
            while forwarded < len(signals):
                forwarded += 1
                for process in running.values():
                    process.terminate()
            for key in [key for key, process in running.items() if process.poll() is not None]:
                code = running.pop(key).returncode
                if not signals:
                    _check(folder, key, code)
                ended += 1
                remaining = (time.monotonic() - start) / ended * (len(pending) - ended)
                log.info(
                    "[%d/%d] %s%s", ended, len(pending), _line(folder, key), f"; about {clock(remaining)} left" * eta
                )
            if signals and not running:
                raise StoppedError(folder, signals[0])
            time.sleep(POLL_SECONDS)


def _start(folder: StudyFolder, key: str, exact_match: bool) -> subprocess.Popen[bytes]:
    output = folder.log(key)
    output.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "regard", "study", "work", str(folder.path), key]
    with output.open("ab") as out:
        # In its own process group a run gets Ctrl-C once, from here; a second signal would end it before it saves.
        return subprocess.Popen(
            [*command, *["--exact-match"] * exact_match],
            env={**os.environ, **ONE_THREAD}, stdin=subprocess.PIPE, stdout=out, stderr=out, process_group=0,
        )  # fmt: skip


def _check(folder: StudyFolder, key: str, code: int) -> None:
    if folder.outcome(key) is None:
        lines = folder.log(key).read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no output"]
        raise UserError(f"{folder.path}: run {key} failed ({code}): {lines[-1].removeprefix('regard: ')}")


def _line(folder: StudyFolder, key: str) -> str:
    outcome = folder.outcome(key)
    result = "stopped" if outcome is None else "diverged" if outcome.loss is None else f"loss {outcome.loss:.4f}"
    return f"{key}: {result}"


@contextmanager
def _stop_signals(running: Mapping[str, subprocess.Popen[bytes]]) -> Iterator[list[int]]:
    """The stop signals received so far. On leaving, no run is left behind."""
    signals: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for process in running.values():
            process.kill()
            process.wait()
