"""Options that verbs of tables share."""

import logging
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.core.errors import ConfigError

if TYPE_CHECKING:
    from regard.tables.problem import Problem

Task = Literal["auto", "classify", "regress"]
Mode = Literal["auto", "attention", "in_context", "scratch"]
Kinds = Annotated[tuple[str, ...], Parameter(name="--kind")]

logger = logging.getLogger("regard.tables")


def log_target(*problems: "Problem") -> None:
    """Say how the target, or each of several, is read, and what may be wrong with it."""
    from regard.tables.target_checks import check_target

    dropped, names = problems[0].dropped, " or no ".join(repr(one.target.name) for one in problems)
    if dropped:
        logger.warning("note: %s no %s: dropped", "1 row has" if dropped == 1 else f"{dropped:,} rows have", names)
    for problem in problems:
        task = "classification" if problem.classifies else "regression"
        logger.info("%s: %s (%s)", problem.target.name, task, problem.reason)
        for line in check_target(problem):
            logger.warning("note: %s", line)


def read_kinds(words: tuple[str, ...]) -> dict[str, str]:
    """COLUMN=kind, the last equals sign counting: a name may hold others."""
    kinds = {}
    for word in words:
        name, equals, kind = word.rpartition("=")
        if not equals or not name:
            raise ConfigError(f"--kind {word}: must be COLUMN=number, =category, =date or =text")
        kinds[name] = kind
    return kinds
