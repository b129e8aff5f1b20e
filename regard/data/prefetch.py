"""Prefetching: the next batch is prepared in a background thread while the current step runs.

A batch depends on its step number alone, so prefetching cannot change the order of the data.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from regard.core.batches import Batches


class Prefetch:
    def __init__(self, data: Batches):
        self.data, self.fixed_shape = data, data.fixed_shape
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        self._next: tuple[int, Future[Any]] | None = None

    def __enter__(self) -> "Prefetch":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    @property
    def steps_per_epoch(self) -> int:
        return self.data.steps_per_epoch

    def batch(self, step: int) -> Any:
        ready = self._next[1].result() if self._next is not None and self._next[0] == step else self.data.batch(step)
        self._next = step + 1, self._thread.submit(self.data.batch, step + 1)
        return ready

    def once(self) -> Iterator[Any]:
        return self.data.once()
