"""Splitting a text into words: letters and digits belong together, every other sign is a word of its own."""

import re
from collections.abc import Sequence

Sentence = str | Sequence[str]

WORD = re.compile(r"\w+(?:[-'’.,]\w+)*|[^\w\s]")  # it's, well-known, 3.14


def words_of(sentence: Sentence) -> list[str]:
    """The words of a sentence, which may be split already."""
    return WORD.findall(sentence) if isinstance(sentence, str) else list(sentence)
