"""What a person sees while many things are read: one live count in a terminal, a plain line now and then in a log."""

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import TypeVar

from rich.console import Console

LIVE_SECONDS, QUIET_SECONDS = 0.1, 10  # between what is told in a terminal, and in a log
Thing = TypeVar("Thing")


def counted(things: Iterable[Thing], what: str) -> Iterator[Thing]:
    """The same things; what takes less than a moment is not spoken of."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    live = console.status(what) if console.is_terminal else None
    between, told = LIVE_SECONDS if live else QUIET_SECONDS, time.monotonic()
    with live or nullcontext():
        for number, thing in enumerate(things, 1):
            yield thing
            if time.monotonic() - told < between:
                continue
            told = time.monotonic()
            if live:
                live.update(f"{what}: {number:,}")
            else:
                console.print(f"{what}: {number:,}")
