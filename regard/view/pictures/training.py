"""Training curves: the logged metrics of a run, thinned to what a screen can show."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.core.system import CLOSE_ON_EXEC, NO_FOLLOW, try_lock
from regard.store import is_final, read_metrics

MAX_POINTS = 1000  # of a curve
Point = tuple[int, float | None, float]  # step, seconds, value
NOT_DRAWN = {"step", "seconds", "skipped"}


def training_picture(path: Path) -> dict[str, Any]:
    """Curves by name as steps, seconds and values; the latest logged samples; whether the run is training now."""
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
        steps, seconds, values = zip(*thin(points), strict=True)
        drawn[name] = {"steps": steps, "seconds": seconds, "values": values}
    return {"curves": drawn, "samples": samples[-8:], "running": is_running(path)}


def thin(points: Sequence[Point], max_points: int = MAX_POINTS) -> list[Point]:
    """The minimum and maximum of each interval, and the last point, so that spikes stay visible."""
    if len(points) <= max_points:
        return list(points)
    selected = {len(points) - 1}
    width = -(-2 * len(points) // (max_points - 1))
    for first in range(0, len(points), width):
        interval = range(first, min(first + width, len(points)))
        selected |= {min(interval, key=lambda i: points[i][2]), max(interval, key=lambda i: points[i][2])}
    return [points[i] for i in sorted(selected)]


def is_running(path: Path) -> bool:
    """Whether a process holds the lock of the run folder; the lock is released at once."""
    try:
        lock = os.open(path / ".lock", os.O_RDONLY | NO_FOLLOW | CLOSE_ON_EXEC)
    except OSError:
        return False
    try:
        return not try_lock(lock, shared=True)
    except OSError:
        return False
    finally:
        os.close(lock)
