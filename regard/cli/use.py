"""Verbs that use what was trained, from standard input to standard output."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import regard
from regard.cli.app import app
from regard.core.errors import UserError

if TYPE_CHECKING:
    from regard.data.trees import Parse


@app.command
def classify(run: Path, *, trees: tuple[Path, ...] = ()) -> None:
    """Name the label of each line of standard input.

    Parameters
    ----------
    run
        Run folder of a classifier.
    trees
        CoNLL-U files with the dependency tree of each line.
    """
    loaded, lines = regard.load(run), read_lines()
    for label in loaded.classify(lines, read_line_trees(trees, lines)):
        print(label)


@app.command
def generate(
    run: Path,
    *,
    prompt: str = "",
    tokens: int = 200,
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition: float = 1.0,
    stop: tuple[str, ...] = (),
    seed: int | None = None,
) -> None:
    """Write text that follows a prompt, as it comes.

    Parameters
    ----------
    run
        Run folder of a language model.
    prompt
        What to go on from.
    tokens
        Most tokens to write.
    temperature
        Below 1 more sure, above 1 more adventurous; 0 always takes the likeliest.
    top_k
        Choose among this many only.
    top_p
        Choose among the likeliest that together have this probability.
    min_p
        Choose among those at least this share as likely as the likeliest.
    repetition
        Above 1 makes what has been written less likely.
    stop
        End before this text; may be given several times.
    seed
        The same seed writes the same text.
    """
    from regard.decode import Sampling

    sampling = Sampling(temperature, top_k, top_p, min_p, repetition, seed)
    sys.stdout.write(prompt)
    for piece in regard.load(run).generate(prompt, tokens, sampling, stop):
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


@app.command
def translate(run: Path, *, longest: int = 256, trees: tuple[Path, ...] = ()) -> None:
    """Translate the lines of standard input.

    Parameters
    ----------
    run
        Run folder of a translator.
    longest
        Most tokens to write for a line.
    trees
        CoNLL-U files with the dependency tree of each line.
    """
    loaded, lines = regard.load(run), read_lines()
    for answer in loaded.translate(lines, longest, trees=read_line_trees(trees, lines)):
        print(answer)


def read_line_trees(files: tuple[Path, ...], lines: list[str]) -> "list[Parse] | None":
    """The tree of each line of standard input, where trees are given."""
    if not files:
        return None
    from regard.data.trees import match_trees, read_trees

    parses = read_trees(files)
    match_trees(parses, lines, lambda number: f"standard input, line {number + 1}")
    return parses


def read_lines() -> list[str]:
    """Standard input as lines; bytes that are not UTF-8 are named by line."""
    lines: list[str] = []
    if sys.stdin is None:
        return lines
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            lines.append(line.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number}: is not UTF-8") from None
    return lines
