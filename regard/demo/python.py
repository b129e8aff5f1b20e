"""Text: a language model of characters learns from sources that are on every machine with Python, and then writes."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

import regard
from regard.core.config import override
from regard.core.files import write_text
from regard.decode import Sampling
from regard.tasks import load_run
from regard.tasks.lm.recipe import language_model
from regard.tasks.plan import Plan
from regard.tasks.training import train

CHARACTERS = 600_000  # to learn from, at most
PROMPT = "def "


def show(out: Path, quick: bool, console: Console) -> int:
    text = sources(CHARACTERS // 6 if quick else CHARACTERS)
    file, place = out / "python.txt", out / "python"
    write_text(file, text)
    console.print(
        f"{len(text):,} characters of Python's standard library, one character after the other: which is next?"
    )
    console.print("Everything, from letters to indentation, it has to find out by itself.\n")
    report = train(plan(file, quick), place, overwrite=True)
    if report.stopped_by:
        return 128 + report.stopped_by
    run = load_run(place)
    console.print("\nWhat it writes (it has learned for less than a minute, from one short text):\n")
    console.print(PROMPT, end="", markup=False)
    for piece in run.generate(PROMPT, 40 if quick else 360, Sampling(temperature=0.7, seed=3)):
        console.print(piece, end="", markup=False)
    console.print()
    return 0


def plan(file: Path, quick: bool) -> Plan:
    """The usual recipe with a smaller model and less time."""
    smaller = {
        "data.length": 128,
        "data.valid_fraction": 0.05,
        "model.width": 128,
        "model.layers": 4,
        "model.dropout": 0.0,
        "training.minutes": 0.05 if quick else 0.6,
        "training.eval_every": 100,
    }
    return override(language_model((str(file),)), smaller)


def sources(most: int) -> str:
    """The first modules of the standard library by name; where its sources are not kept, the package's own."""
    text, length = [], 0
    for module in modules():
        text.append(module[: most - length])
        length += len(text[-1])
        if length == most:
            break
    return "".join(text)


def modules() -> Iterator[str]:
    for folder in (Path(sysconfig.get_path("stdlib")), Path(regard.__file__).parent):
        for file in sorted(folder.glob("*.py")) + sorted(folder.glob("*/*.py")):
            text = file.read_bytes()
            if file.is_relative_to(folder / "test") or not text.isascii():  # few characters are learned sooner
                continue
            yield text.decode()
