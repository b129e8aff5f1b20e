"""Errors that a user can mend: one line that names the thing and says what to do."""

import difflib
import math
from collections.abc import Iterable


class UserError(Exception):
    """Something outside the program is wrong: a file, a folder, a value. Shown as one line, without a traceback."""

    exit_code = 1


class ConfigError(UserError, ValueError):
    """An option or a config key that cannot be meant: unknown, of the wrong type, or at odds with another."""

    exit_code = 2


def one_line(error: BaseException) -> str:
    """What another library says is wrong; it may quote what it read, line breaks included."""
    return " ".join(str(error).split())


def at_least(least: int, **settings: int | None) -> None:
    """Refuse settings that are too small to mean anything, before they become a division by zero somewhere else."""
    for name, value in settings.items():
        if value is not None and value < least:
            raise ConfigError(f"{name}: must be at least {least}, not {value}")


MANY = 4096  # layers or experts: more would be a slip, and would take minutes to refuse


def at_most(most: int, **settings: int | None) -> None:
    for name, value in settings.items():
        if value is not None and value > most:
            raise ConfigError(f"{name}: at most {most}, not {value}")


def share(**settings: float) -> None:
    """Refuse what is no share: less than nothing, or the whole and more."""
    for name, value in settings.items():
        if not 0 <= value < 1:
            raise ConfigError(f"{name}: must be at least 0 and below 1, not {value}")


def not_negative(**settings: float) -> None:
    for name, value in settings.items():
        if not 0 <= value < math.inf:
            raise ConfigError(f"{name}: must be at least 0, not {value}")


def did_you_mean(word: str, known: Iterable[str], before: str = "") -> str:
    """The end of an error line about an unknown word: the nearest known one (after what stands before it), or all."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if not close:  # "bigbird" for "BigBird" is far in letters and near in meaning
        close = [name for name in known if name.lower() == word.lower()]
    return f"did you mean {before + close[0]!r}?" if close else f"known: {', '.join(known)}"
