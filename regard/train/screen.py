"""What a person sees while a run trains: one live line in a terminal, a plain line now and then in a log."""

import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from regard.train.precision import Precision

QUIET_SECONDS = 10  # between plain lines


class Screen:
    def __init__(self, speaks: bool, unit: str, precision: Precision, folder: Path):
        self.console = Console(stderr=True, quiet=not speaks, highlight=False, markup=False, soft_wrap=True)
        self.unit, self.precision, self.folder = unit, precision, folder
        self.speed = 0.0
        self._line_at = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[told]}"),
            console=self.console, disable=not (speaks and self.console.is_terminal),
        )  # fmt: skip

    def __enter__(self) -> "Screen":
        self.console.print(f"training {self.folder} ({self.precision})")
        self._bar.start()
        self._task = self._bar.add_task("starting", total=1.0, told="")
        self._seconds: float | None = None
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, step: int, steps: int | None, done: float, seconds: float, loss: float, size: int) -> None:
        spent = 0.0 if self._seconds is None else seconds - self._seconds
        if spent > 0:
            now = size / spent
            self.speed = now if not self.speed else 0.95 * self.speed + 0.05 * now
        self._seconds = seconds
        left = seconds / done - seconds if done else 0.0
        of = f" of {steps:,}" if steps else ""
        speed = f"{self.speed:,.0f} {self.unit}/s  " if self.speed else ""  # the first step tells none
        told = f"loss {loss:.4f}  {speed}{clock(left)} left"
        self._bar.update(self._task, completed=done, description=f"step {step:,}{of}", told=told)
        if self._bar.disable and (time.monotonic() - self._line_at > QUIET_SECONDS or done >= 1):
            self._line_at = time.monotonic()
            self.console.print(f"step {step:,}{of}  {told}")

    def checked(self, step: int, loss: float, *, best: bool) -> None:
        self.console.print(f"step {step:,}  validation loss {loss:.4f}{' (best)' if best else ''}")


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
