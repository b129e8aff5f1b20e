"""The scheduler: which prompt is read next, and which texts are written together (Orca, Yu et al., 2022).

It knows lengths and clients, no model and no tensor. Clients take turns, so that one with many requests does not hold
up another with one. Long prompts are read in chunks between the steps of the texts that are being written (chunked
prefill).
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable


@runtime_checkable  # so that tests can check it
class Queued(Protocol):
    @property
    def client(self) -> str: ...


@runtime_checkable
class Text(Queued, Protocol):
    """A prompt that is to be continued."""

    @property
    def prompt_length(self) -> int: ...

    @property
    def longest(self) -> int:
        """Tokens of the prompt and of all that may be written after it."""


Q = TypeVar("Q", bound=Queued)
T = TypeVar("T", bound=Text)


class FairQueue(Generic[Q]):
    """First come, first served within a client; clients take turns."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, deque[Q]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def __iter__(self) -> Iterator[Q]:
        return (item for items in self._clients.values() for item in items)

    def add(self, item: Q) -> None:
        self._clients.setdefault(item.client, deque()).append(item)

    def first(self) -> Q | None:
        return next((items[0] for items in self._clients.values()), None)

    def take(self) -> Q:
        """The first item; its client is then the last in turn."""
        client, items = next(iter(self._clients.items()))
        item = items.popleft()
        del self._clients[client]
        if items:
            self._clients[client] = items
        return item

    def remove(self, unwanted: Callable[[Q], bool]) -> list[Q]:
        removed = [item for item in self if unwanted(item)]
        for client in list(self._clients):
            left = deque(item for item in self._clients[client] if not unwanted(item))
            if left:
                self._clients[client] = left
            else:
                del self._clients[client]
        return removed


@dataclass(frozen=True)
class Chunk(Generic[T]):
    """Some tokens of a prompt, to be read now."""

    text: T
    start: int
    end: int

    @property
    def is_last(self) -> bool:
        return self.end == self.text.prompt_length


class Scheduler(Generic[T]):
    """Texts wait, are read, and are written. At most `rows` are read or written at a time."""

    def __init__(self, rows: int, chunk: int, tokens: int):
        self.rows, self.chunk = rows, chunk
        self.tokens = tokens  # that all texts in memory may have, in all
        self.waiting: FairQueue[T] = FairQueue()
        self.running: list[T] = []
        self._reading: T | None = None
        self._read = 0

    def add(self, text: T) -> None:
        self.waiting.add(text)

    @property
    def busy(self) -> bool:
        return bool(self.running or self._reading is not None or len(self.waiting))

    @property
    def reserved(self) -> int:
        """Tokens that the texts in memory may come to."""
        return sum(text.longest for text in self._held())

    def chunks(self, already_read: Callable[[T], int] = lambda text: 0) -> Iterator[Chunk[T]]:
        """The chunks of prompts to read before the next step: `chunk` tokens in all.

        `already_read` says how much of a prompt is known from an earlier one.
        """
        left = self.chunk
        while left > 0 and self._begin(already_read):
            text = self._reading
            assert text is not None
            end = min(self._read + left, text.prompt_length)
            chunk = Chunk(text, self._read, end)
            left -= end - self._read
            self._read = end
            if chunk.is_last:
                self._reading = None
                self.running.append(text)
            yield chunk

    def _begin(self, already_read: Callable[[T], int]) -> bool:
        """Whether there is a prompt to read; the next one that fits is begun if none is."""
        if self._reading is not None:
            return True
        text = self.waiting.first()
        held = self._held()
        if text is None or len(held) >= self.rows:
            return False
        if held and self.reserved + text.longest > self.tokens:  # one alone always fits: its length was checked
            return False
        self._reading = self.waiting.take()
        self._read = already_read(self._reading)
        return True

    def again(self, text: T) -> None:
        """A text that has to be read once more, since its state was lost."""
        self.remove(lambda other: other is text)
        self.waiting.add(text)

    def remove(self, unwanted: Callable[[T], bool]) -> list[T]:
        """Texts that are finished or no longer wanted, wherever they are."""
        removed = [text for text in self._held() if unwanted(text)] + self.waiting.remove(unwanted)
        self.running = [text for text in self.running if not unwanted(text)]
        if self._reading is not None and unwanted(self._reading):
            self._reading = None
        return removed

    def _held(self) -> list[T]:
        return [*self.running, *([] if self._reading is None else [self._reading])]
