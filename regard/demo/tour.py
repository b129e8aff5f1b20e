"""From one step of the demo to the next, in a folder that is the demo's alone."""

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from regard.core.errors import UserError
from regard.core.files import write_text
from regard.demo import dates, python, wine
from regard.demo.after import what_next

Step = Callable[[Path, bool, Console], int]  # where it may write, whether only a little, where to tell; the exit code

STEPS: dict[str, tuple[str, Step]] = {
    "wine": ("A table: read with weights that come with the package", wine.show),
    "dates": ("Translation: a Transformer learns to read dates, from nothing", dates.show),
    "python": ("Text: a language model learns Python from Python's own sources", python.show),
}
MARK = "README.md"  # what the demo leaves beside its runs; a folder without it is somebody else's


def run_demo(out: Path, quick: bool) -> int:
    """All steps in turn; gives the exit code."""
    refuse_other_folders(out)
    console, began = Console(highlight=False, soft_wrap=True), time.monotonic()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: cannot be made ({error.strerror}); choose another folder with --out") from None
    write_text(out / MARK, "Made by `regard demo`, which may replace all of it: do not keep anything here.\n")
    for number, (title, step) in enumerate(STEPS.values(), 1):
        console.rule(f"[bold]{number} of {len(STEPS)}  {title}[/]", align="left")
        code = step(out, quick, console)
        if code:
            return code
        console.print()
    return what_next([out / name for name in STEPS], time.monotonic() - began, console, may_stay=not quick)


def refuse_other_folders(out: Path) -> None:
    """The demo replaces what an earlier demo left, and nothing else."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; the demo needs a folder: choose another with --out")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UserError(f"{out}: holds something that is not the demo's; choose another folder with --out")
