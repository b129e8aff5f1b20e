"""Progress: the library says what it is doing, and whoever listens may show it. Nothing is printed here.

with listening(show):                 # a verb, which draws a bar
    estimator.fit(table, target)      # reports "fold 2 of 3: learned keys"
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]
SEPARATOR = " · "

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(stage: str) -> None:
    """Say which stage begins now. Without a listener nothing happens."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Stages that are reported in this block go to the listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def within(part: str) -> Iterator[None]:
    """Stages that are reported in this block are stages of this part of the work, which is reported first."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    outer(part)
    with listening(lambda stage: outer(f"{part}{SEPARATOR}{stage}")):
        yield
