"""What the pages tell a reader to type: commands and Python, in the order in which they stand."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = ["jobs", "mechanisms"]  # pages that own a command which others repeat
PROGRAMS = ("regard", "echo", "torchrun", "make", "pip", "python", "mkdir")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    page: str
    echoed: str | None = None  # what is piped into it
    file: str | None = None  # what it reads from

    def option(self, name: str) -> str | None:
        return self.words[self.words.index(name) + 1] if name in self.words else None


def pages() -> list[str]:
    """Named from the root: first those about one thing. Reports of studies tell what was done, not what to do."""
    found = [path for path in (ROOT / "docs").glob("**/*.md") if path.name != "report.md"]
    found.sort(key=lambda path: (path.parent.name not in FIRST, path))
    return [str(path.relative_to(ROOT)) for path in [*found, ROOT / "README.md"]]


def python_of(page: str) -> list[str]:
    return PYTHON.findall((ROOT / page).read_text())


def commands_of(page: str) -> list[Command]:
    """Every command of a page; `…` stands for the options of the first that begins alike."""
    found: list[Command] = []
    for line in _lines((ROOT / page).read_text()):
        words = shlex.split(line, comments=True)
        if "…" in words:
            place = words.index("…")
            before = next(one for one in found if list(one.words[:place]) == words[:place])
            words[place : place + 1] = before.words[place:]
        found.append(_command(words, page))
    return found


def _lines(text: str) -> Iterator[str]:
    text = text.replace("\\\n", " ")
    for line in re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        if line.startswith("    ") and line.split()[:1] and line.split()[0] in PROGRAMS:
            yield line
        elif line.startswith("|"):
            yield from re.findall(r"\| `(regard [^`]+)` \|", line)


def _command(words: list[str], page: str) -> Command:
    echoed = file = None
    if "|" in words:
        place = words.index("|")
        echoed, words = " ".join(words[1:place]) + "\n", words[place + 1 :]
    if "<" in words:
        file = words[words.index("<") + 1]
        words = words[: words.index("<")]
    if ">" in words:
        words = words[: words.index(">")]
    return Command(tuple(words), page, echoed, file)


def every_command() -> dict[Command, str]:
    """Each command once, with the first page that has it."""
    owners: dict[tuple[object, ...], Command] = {}
    for page in pages():
        for command in commands_of(page):
            owners.setdefault((command.words, command.echoed, command.file), command)
    return {command: command.page for command in owners.values()}
