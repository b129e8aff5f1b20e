"""How many threads an estimator may use."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.core.errors import ConfigError
from regard.core.machine import usable_cores


@contextmanager
def threads(jobs: int | None) -> Iterator[None]:
    """So many while this lasts; None: as many as torch has; -1: all cores, -2: all but one."""
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
