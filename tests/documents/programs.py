"""Programs on the pages beside regard: run where that takes a moment, else checked by how they read the words."""

import argparse
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.documents.pages import ROOT

# Without a network and without changing anything: the package is prepared, and what else is named must be installed.
DRY = ["--dry-run", "--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
ELSEWHERE = {("pip", "wheel"): "tests/test_wheel.py"}


class Enough(BaseException):
    """A script has read all of its arguments; what it would do next takes from minutes to hours."""


def run(words: Sequence[str]) -> None:
    """Raises where the words do not hold."""
    if tuple(words[:2]) not in ELSEWHERE:
        {"make": make, "pip": pip, "mkdir": mkdir, "python": script}[words[0]](list(words[1:]))


def make(words: list[str]) -> None:
    if program := shutil.which("make"):
        succeed([program, "--dry-run", *words], ROOT)


def pip(words: list[str]) -> None:
    succeed([sys.executable, "-m", "pip", *words, *DRY], ROOT)


def mkdir(words: list[str]) -> None:
    succeed(["mkdir", *map(at_home, words)], Path.cwd())


def at_home(path: str) -> str:
    """A reader's home is the folder that he reads in."""
    return path.replace("~", str(Path.cwd()), 1)


def script(words: list[str]) -> None:
    file = ROOT / words[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(file), *words[1:]])
        patch.syspath_prepend(file.parent)
        patch.setattr(argparse.ArgumentParser, "parse_args", read_only)
        with pytest.raises(Enough):
            runpy.run_path(str(file), run_name="__main__")


def read_only(parser: argparse.ArgumentParser, words: Sequence[str] | None = None) -> Any:
    _, rest = parser.parse_known_args(words)
    assert not rest, f"{parser.prog} does not know {rest}"
    raise Enough


def succeed(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
