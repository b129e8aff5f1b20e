"""The number of threads of an estimator (`n_jobs`)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.core.errors import ConfigError
from regard.core.machine import usable_cores


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
