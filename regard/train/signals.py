"""Stopping well: the first Ctrl-C or SIGTERM asks the loop to finish its step and save; the second ends at once."""

import logging
import os
import signal
import threading
from types import FrameType

log = logging.getLogger(__name__)


class StopRequest:
    """Number of the signal that asked to stop, 0 while none has."""

    def __init__(self, saved: bool = True) -> None:
        self.signal = 0
        self.saved = saved  # whether the step at which the loop stops is
        self._before: dict[int, object] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _hear(self, number: int, _: FrameType | None) -> None:
        self.signal = number
        if os.environ.get("RANK", "0") == "0":
            saved = ", which is saved" if self.saved else ""
            log.warning(f"\nstopping after this step{saved}; a second signal ends at once")
        signal.signal(number, signal.SIG_DFL)
