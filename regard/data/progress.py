"""Progress of a long read: a live count in a terminal, an occasional line in a log file."""

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import TypeVar

from rich.console import Console

TERMINAL_SECONDS, LOG_SECONDS = 0.1, 10  # between two updates
Item = TypeVar("Item")


def progress(items: Iterable[Item], label: str) -> Iterator[Item]:
    """Yield the items and report their count; a quick loop reports nothing."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    live = console.status(label) if console.is_terminal else None
    interval, last = TERMINAL_SECONDS if live else LOG_SECONDS, time.monotonic()
    with live or nullcontext():
        for number, item in enumerate(items, 1):
            yield item
            if time.monotonic() - last < interval:
                continue
            last = time.monotonic()
            if live:
                live.update(f"{label}: {number:,}")
            else:
                console.print(f"{label}: {number:,}")
