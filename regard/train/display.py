"""What a person sees while a run trains: a progress bar in a terminal, a plain line now and then in a log."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

LINE_SECONDS = 10  # between plain lines


class Display:
    def __init__(self, title: str | None, unit: str, precision: str):
        """Without a title nothing is shown."""
        self.title, self.unit, self.precision = title, unit, precision
        self.console = Console(stderr=True, quiet=title is None, highlight=False, markup=False, soft_wrap=True)
        self.speed = 0.0
        self._line_at = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[status]}"),
            console=self.console, disable=title is None or not self.console.is_terminal,
        )  # fmt: skip

    def __enter__(self) -> "Display":
        self.console.print(f"training {self.title} ({self.precision})")
        self._bar.start()
        self._task = self._bar.add_task("starting", total=1.0, status="")
        self._seconds: float | None = None
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, step: int, steps: int | None, done: float, seconds: float, loss: float, size: int) -> None:
        elapsed = 0.0 if self._seconds is None else seconds - self._seconds
        if elapsed > 0:
            now = size / elapsed
            self.speed = now if not self.speed else 0.95 * self.speed + 0.05 * now
        self._seconds = seconds
        left = seconds / done - seconds if done else 0.0
        of = f" of {steps:,}" if steps else ""
        speed = f"{self.speed:,.0f} {self.unit}/s  " if self.speed else ""  # unknown after the first step
        status = f"loss {loss:.4f}  {speed}{clock(left)} left"
        self._bar.update(self._task, completed=done, description=f"step {step:,}{of}", status=status)
        if self._bar.disable and (time.monotonic() - self._line_at > LINE_SECONDS or done >= 1):
            self._line_at = time.monotonic()
            self.console.print(f"step {step:,}{of}  {status}")

    def validated(self, step: int, loss: float, error: float | None, *, best: bool) -> None:
        errors = "" if error is None else f"  errors {error:.2%}"
        self.console.print(f"step {step:,}  validation loss {loss:.4f}{errors}{' (best)' if best else ''}")


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
