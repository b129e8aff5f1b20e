"""Ahead: the next batch is made in a thread of its own while a step is computed.

A batch depends on the number of its step alone, so nothing can come in another order because of it.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from regard.core.batches import Batches


class Ahead:
    def __init__(self, data: Batches):
        self.data, self.fixed_shape = data, data.fixed_shape
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ahead")
        self._next: tuple[int, Future[Any]] | None = None

    def __enter__(self) -> "Ahead":
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
