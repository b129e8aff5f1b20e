"""Cutting long texts in the middle, so that those that differ at an end can still be told apart."""

from collections.abc import Sequence


def cut(text: str, most: int) -> str:
    """At most so many characters: the beginning and the end."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"


def cut_apart(texts: Sequence[str], most: int) -> list[str]:
    """Each cut to so many characters, or to as many more as it takes to tell different texts apart."""
    longest, different = max(map(len, texts), default=0), len(set(texts))
    for length in range(most, longest):
        shown = [cut(text, length) for text in texts]
        if len(set(shown)) == different:
            return shown
    return list(texts)
