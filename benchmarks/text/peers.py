"""Programs measured beside each other: each a process of its own, stopped while it is not its turn.

A peer that waits actively would take a core from another, and so would what its threads do between jobs. Peers take
turns within a round, so that a busy moment slows all of them; the figure is the median of the rounds.
"""

import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Job = Callable[[], Any]


class Peer:
    """A process that does one of its jobs whenever it is asked."""

    def __init__(self, name: str, command: Sequence[str]):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.works = self._line() == "ready"
        self._pause()

    def seconds(self, job: str) -> float | None:
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{job}\n")
        self.process.stdin.flush()
        answer = self._line()
        self._pause()
        return None if answer == "none" else float(answer)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def _pause(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def measure(peers: Sequence[Peer], job: str, rounds: int) -> dict[str, float]:
    """Median seconds of each peer that can do the job."""
    seconds: dict[str, list[float]] = {}
    for number in range(rounds + 1):  # the first warms up
        for peer in peers:
            taken = peer.seconds(job)
            if taken is not None and number:
                seconds.setdefault(peer.name, []).append(taken)
    return {name: statistics.median(each) for name, each in seconds.items()}


def answer(name: str, make_jobs: Callable[[], Mapping[str, Job]]) -> None:
    """The peer's side: says that it is ready, then does the jobs that standard input names, and prints the seconds."""
    try:
        jobs = make_jobs()
    except (ImportError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        print("absent", flush=True)
        return
    print("ready", flush=True)
    for line in sys.stdin:
        job = jobs.get(line.strip())
        if job is None:
            print("none", flush=True)
            continue
        began = time.perf_counter()
        job()
        print(time.perf_counter() - began, flush=True)
