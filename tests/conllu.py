"""Dependency trees to write to files: what a test gives is the truth that a reader must find."""

from collections.abc import Sequence


def conllu(words: Sequence[str], heads: Sequence[int], comments: Sequence[str] = ()) -> str:
    """One sentence without multiword tokens; `heads[i]` is the head of word i, -1 for the root."""
    rows = [
        f"{number}\t{word}\t_\tX\t_\t_\t{head + 1}\tdep\t_\t_\n"
        for number, (word, head) in enumerate(zip(words, heads, strict=True), 1)
    ]
    return "".join([*(f"# {comment}\n" for comment in comments), *rows, "\n"])


def chain(text: str) -> str:
    """A text in which the head of every word is the word before it."""
    words = text.split()
    return conllu(words, range(-1, len(words) - 1))
