"""What a method is here: how to build an estimator of the scikit-learn kind for a table, and where it fits."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from .files import CLASSIFICATION


@dataclass(frozen=True)
class Setup:
    """All that a method may know before it sees its training rows."""

    task: str
    texts: tuple[str, ...]  # names of the columns that hold texts
    seed: int
    threads: int
    limit: float  # seconds, for methods that keep to one

    @property
    def classifies(self) -> bool:
        return self.task == CLASSIFICATION


@dataclass(frozen=True)
class Method:
    build: Callable[[Setup], Any]
    packages: tuple[str, ...]  # it needs them, and their versions are kept; the first is the one it is made of
    most_rows: int | None = None  # of training; None: as many as there are
    keeps_limit: bool = False

    def missing(self) -> str | None:
        """The module that is not installed here, if any."""
        for package in self.packages:
            try:
                if find_spec(package) is None:
                    return package
            except ModuleNotFoundError:
                return package
        return None
