"""What the pages tell a reader to type: commands and Python, in the order in which they stand."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = ["jobs", "mechanisms"]  # pages that own a command which others repeat
PROGRAMS = ("regard", "echo", "torchrun", "make", "pip", "python", "mkdir")
SPOKEN_OF = ("pip",)  # beside regard: its verbs are named in sentences too, although nobody is to type them
NEED_NOTHING = ("regard doctor", "regard demo")  # verbs that are whole commands
INLINE = re.compile(rf"`((?:{'|'.join(PROGRAMS)}) [^`]+)`")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    page: str
    echoed: str | None = None  # what is piped into it
    file: str | None = None  # what it reads from
    into: str | None = None  # where what it says goes

    def option(self, name: str) -> str | None:
        return self.words[self.words.index(name) + 1] if name in self.words else None


def pages() -> list[str]:
    """Named from the root: first those about one thing. Reports tell what was done, not what to do."""
    result = [path for path in (ROOT / "docs").glob("**/*.md") if path.name != "report.md"]
    result.sort(key=lambda path: (path.parent.name not in FIRST, path))
    return [str(path.relative_to(ROOT)) for path in [*result, ROOT / "benchmarks" / "README.md", ROOT / "README.md"]]


def python_of(page: str) -> list[str]:
    return PYTHON.findall((ROOT / page).read_text())


def commands_of(page: str) -> list[Command]:
    """Every command of a page; `…` stands for the options of the first that begins alike."""
    result: list[Command] = []
    for line in _lines(page):
        words = shlex.split(line, comments=True)
        if "…" in words:
            place = words.index("…")
            before = next(one for one in result if list(one.words[:place]) == words[:place])
            words[place : place + 1] = before.words[place:]
        result.append(_command(words, page))
    return result


def verb_of(words: Sequence[str]) -> tuple[str, ...]:
    """Of what follows the name of the program."""
    return tuple(words[: 2 if words[0] in ("train", "study", "pretrain") else 1])


def names_of(page: str) -> list[tuple[str, ...]]:
    """The verbs of regard that are only spoken of."""
    result = INLINE.findall(_plain(page))
    return [verb_of(code.split()[1:]) for code in result if code.startswith("regard ") and _is_name(code)]


def blocks_of(page: str) -> list[str]:
    """The first lines of blocks that are neither Python nor commands."""
    blocks = re.findall(r"(?:^|\n\n)    (\S.*)", _plain(page))
    return [line for line in blocks if line.split()[0] not in PROGRAMS]


def _plain(page: str) -> str:
    """Without blocks between fences, and without lines that end within a command."""
    text = FENCED.sub("", (ROOT / page).read_text().replace("\\\n", " "))
    return re.sub(r"`[^`\n]+\n[^`\n]+`", lambda result: result[0].replace("\n", " "), text)


def _lines(page: str) -> Iterator[str]:
    """What stands in blocks, and what stands in sentences and is more than a name."""
    for line in _plain(page).splitlines():
        if not line.startswith("    "):
            yield from (code for code in INLINE.findall(line) if not _is_name(code))
        elif line.split()[:1] and line.split()[0] in PROGRAMS:
            yield line


def _is_name(code: str) -> bool:
    program, *words = code.split()
    if program == "regard":
        return code not in NEED_NOTHING and len(words) <= len(verb_of(words))
    return program in SPOKEN_OF and len(words) == 1


def _command(words: list[str], page: str) -> Command:
    echoed = file = into = None
    if "|" in words:
        place = words.index("|")
        echoed, words = " ".join(words[1:place]) + "\n", words[place + 1 :]
    if "<" in words:
        file = words[words.index("<") + 1]
        words = words[: words.index("<")]
    if ">" in words:
        into = words[words.index(">") + 1]
        words = words[: words.index(">")]
    return Command(tuple(words), page, echoed, file, into)


def every_command() -> dict[Command, str]:
    """Each command once, with the first page that has it."""
    owners: dict[tuple[object, ...], Command] = {}
    for page in pages():
        for command in commands_of(page):
            owners.setdefault((command.words, command.echoed, command.file), command)
    return {command: command.page for command in owners.values()}
