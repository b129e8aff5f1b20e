"""The result of a measurement: figures with their units, beside those of other libraries."""

import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from regard.core.errors import one_line
from regard.core.extras import importable

K = TypeVar("K", bound=Hashable)
Unit = Literal["GB/s", "GFLOP/s", "tokens/s", "rows/s", "s"]
Job = Callable[[], Any]


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    unit: Unit
    peers: Mapping[str, float] = field(default_factory=dict)  # what other libraries reach, in the same unit
    memory: float | None = None  # fraction of the measured memory bandwidth

    def ratio(self, peer: str) -> float:
        """How many times as fast as the peer regard is."""
        other = self.peers[peer]
        return other / self.value if self.unit == "s" else self.value / other

    def as_dict(self) -> dict[str, Any]:
        peers = {name: {"value": value, "ratio": self.ratio(name)} for name, value in self.peers.items()}
        memory = {} if self.memory is None else {"memory": self.memory}
        return {"what": self.what, "value": self.value, "unit": self.unit, **memory, "peers": peers}


@dataclass(frozen=True)
class Measurement:
    name: str
    about: str  # what was computed, and how
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()  # what was left out, and why

    def as_dict(self) -> dict[str, Any]:
        return {"about": self.about, "figures": [one.as_dict() for one in self.figures], "notes": list(self.notes)}


@dataclass(frozen=True)
class Peer:
    modules: tuple[str, ...]  # any of them will do
    jobs: Callable[..., dict[Any, Job]]


def peer_jobs(peers: Mapping[str, Peer], *arguments: Any) -> tuple[dict[tuple[Any, str], Job], tuple[str, ...]]:
    """The jobs of the libraries that are installed, by what they do and who does it; and who was left out, and why."""
    jobs: dict[tuple[Any, str], Job] = {}
    notes = []
    for name, peer in peers.items():
        if any(map(importable, peer.modules)):
            try:
                jobs |= {(what, name): job for what, job in peer.jobs(*arguments).items()}
            except Exception as error:  # whatever another library raises, the rest is measured
                notes.append(f"{name} is left out: {one_line(error)}")
    return jobs, tuple(notes)


def median_seconds(jobs: Mapping[K, Job], rounds: int) -> dict[K, float]:
    """The median seconds of each job; in every round all take turns, so that a busy moment slows all of them."""
    seconds: dict[K, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):  # the first warms up
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}
