"""What is said of a command that was interrupted: whether it has written anything."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

WHOLE = ("fit", "predict", "explain", "forecast", "compare", "anomalies", "distil")  # verbs that write at the end
OPTIONS = ("--out", "--plot", "--report")

Outputs = dict[Path, int | None]  # when each was changed last


def outputs(words: Sequence[str]) -> Outputs:
    """The files and folders that a verb is to write, and what is kept beside them meanwhile."""
    if not words or words[0] not in WHOLE:
        return {}
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    paths = [Path(value.partition("::")[0]) for option, value in pairwise(split) if option in OPTIONS]
    parts = [path.with_name(f".{path.name}.partial") for path in paths if path.name]
    return {path: _changed(path) for path in (*paths, *parts)}


def interrupted(before: Outputs) -> str:
    """The line about it, given the outputs as they were before the command."""
    nothing = bool(before) and all(_changed(path) == time for path, time in before.items())
    return "interrupted; nothing was written" if nothing else "interrupted"


def _changed(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
