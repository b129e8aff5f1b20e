"""Training as curves: what a run has logged so far, thinned where it is more than a screen can show."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.store import is_final, read_metrics

MOST = 1000  # points of a curve
Point = tuple[int, float | None, float]  # step, seconds, value
NOT_DRAWN = {"step", "seconds", "skipped"}


def training_picture(path: Path) -> dict[str, Any]:
    """Curves by name, each as steps, seconds and values; texts that were logged; whether it is still going on."""
    curves: dict[str, list[Point]] = {}
    samples: list[dict[str, Any]] = []
    for line in read_metrics(path):
        for name, value in line.items():
            if is_final(line, name):
                name = "loss_at_the_end"
            if isinstance(value, str):
                samples.append({"step": line["step"], "name": name, "text": value})
            elif name not in NOT_DRAWN and isinstance(value, int | float) and not isinstance(value, bool):
                seconds = line.get("seconds")
                curves.setdefault(name, []).append((line["step"], seconds, float(value)))
    drawn = {}
    for name, points in curves.items():
        steps, seconds, values = zip(*thinned(points), strict=True)
        drawn[name] = {"steps": steps, "seconds": seconds, "values": values}
    return {"curves": drawn, "samples": samples[-8:], "running": is_running(path)}


def thinned(points: Sequence[Point], most: int = MOST) -> list[Point]:
    """Of each stretch its lowest and its highest point, and always the last: spikes stay to be seen."""
    if len(points) <= most:
        return list(points)
    kept = {len(points) - 1}
    stretch = -(-2 * len(points) // (most - 1))
    for first in range(0, len(points), stretch):
        own = range(first, min(first + stretch, len(points)))
        kept |= {min(own, key=lambda place: points[place][2]), max(own, key=lambda place: points[place][2])}
    return [points[place] for place in sorted(kept)]


def is_running(path: Path) -> bool:
    """Whether a process holds the folder's lock. Asked without taking it for longer than the question."""
    try:
        lock = os.open(path / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
    return False
