"""A progress bar for work on tables: what is being done, and how much of the time limit is left.

It is drawn on a terminal only. Elsewhere the lines of the log say what is done, as they do beside the bar.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from regard.tables.progress import listening
from regard.train.display import clock

WIDTH = 20


class TimeBar(ProgressColumn):
    """How much of the time limit has passed."""

    def render(self, task: Task) -> ProgressBar | Text:
        if task.total is None:
            return Text("")
        return ProgressBar(task.total, min(task.elapsed or 0.0, task.total), width=WIDTH)


class TimeLeft(ProgressColumn):
    """The time left of the limit; without one, the time that has passed."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        if task.total is None:
            return Text(clock(elapsed))
        return Text(f"{clock(task.total - elapsed)} left" if elapsed < task.total else "finishing")


@contextmanager
def progress_bar(seconds: float | None = None) -> Iterator[None]:
    """A bar for the stages that are reported in this block, which has a time limit or none."""
    if not sys.stderr.isatty():
        yield
        return
    console = Console(stderr=True, highlight=False, markup=False)
    columns = (SpinnerColumn(), TimeBar(), TimeLeft(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("starting", total=seconds)
        with listening(lambda stage: bar.update(task, description=stage)):
            yield
