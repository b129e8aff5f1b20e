"""Threads of estimators: how many (`n_jobs`), and jobs that run side by side."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import torch

from regard.core.errors import ConfigError
from regard.core.machine import usable_cores

Result = TypeVar("Result")


@contextmanager
def threads(jobs: int | None) -> Iterator[None]:
    """Use so many threads within the block; None: torch's setting; -1: all cores, -2: all but one."""
    if jobs == 0:
        raise ConfigError("n_jobs: must be at least 1, or -1 for all cores, not 0")
    if jobs is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(jobs if jobs > 0 else max(1, usable_cores() + 1 + jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def side_by_side(jobs: Sequence[Callable[[], Result]], threads_each: int = 1) -> list[Result]:
    """The results of independent jobs, run by as many workers as torch has threads.

    Operations on small tensors hardly gain by being split over threads, and wait for the slowest one each time. By
    default every job has one thread, so that its result does not depend on how many there are.
    """
    with _divided(threads_each) as total:
        workers = min(len(jobs), max(1, total // threads_each))
        if workers <= 1:
            return [job() for job in jobs]
        with ThreadPoolExecutor(workers) as pool:  # its threads begin with torch's setting
            return list(pool.map(lambda job: job(), jobs))


class _Division:
    """Torch's number of threads, which is one for the whole process, while some calls of `side_by_side` divide it."""

    lock = Lock()
    calls = 0
    total = 1
    changed = False


@contextmanager
def _divided(threads_each: int) -> Iterator[int]:
    """Torch's number of threads as it was; within the block it is `threads_each`.

    The first of several calls at the same time sets it, and the last one sets it back.
    """
    with _Division.lock:
        if not _Division.calls:
            _Division.total = torch.get_num_threads()
            _Division.changed = _Division.total != threads_each
            if _Division.changed:
                torch.set_num_threads(threads_each)
        _Division.calls += 1
    try:
        yield _Division.total
    finally:
        with _Division.lock:
            _Division.calls -= 1
            if not _Division.calls and _Division.changed:
                torch.set_num_threads(_Division.total)
