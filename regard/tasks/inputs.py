"""Standard input of the verbs that use a run: lines of text, and their trees."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from regard.core.errors import UserError

if TYPE_CHECKING:
    from regard.data.trees.conllu import Parse

log = logging.getLogger(__name__)


def read_lines() -> list[str]:
    """Standard input as lines, without a byte-order mark; bytes that are not UTF-8 are named by line."""
    lines: list[str] = []
    if sys.stdin is None:
        return lines
    if sys.stdin.isatty():
        log.info("type lines, and Ctrl-D after the last")
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n"))
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: is not UTF-8") from None
    return lines


def lines_as_they_come() -> Iterator[str]:
    """The lines of standard input, each as soon as it is typed; empty ones are left out."""
    if sys.stdin is None:
        return
    if sys.stdin.isatty():
        log.info("type a message, and Ctrl-D to end")
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: is not UTF-8") from None
        if text:
            yield text


def read_line_trees(files: tuple[Path, ...], lines: list[str]) -> "list[Parse] | None":
    """The tree of each line of standard input, where trees are given."""
    if not files:
        return None
    from regard.data.trees.conllu import match_trees, read_trees

    parses = read_trees(files)
    match_trees(parses, lines, lambda number: f"standard input, line {number + 1}")
    return parses
