"""What every format is: a frozen config with a method that writes a run, completely or not at all."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Union

from regard.core.config import Config
from regard.core.errors import ConfigError, UserError

if TYPE_CHECKING:
    from regard.tables.persist.load import Estimator
    from regard.tasks.base import Run

Subject = Union["Run", "Estimator"]  # a run of `regard train`, or a fitted table


class ExportFormat(Config, ABC):
    """One format is one module in this package, and one name in the union `Format`."""

    ending: ClassVar[str] = ""  # of the file that it writes; none: it writes a folder

    @classmethod
    def name(cls) -> str:
        """As `regard export --to` takes it."""
        return cls.__name__.lower()

    @abstractmethod
    def write(self, subject: Subject, out: Path) -> str:
        """Write `out`; what returns tells how it is loaded."""


def check_new(out: Path, ending: str) -> None:
    """Refuse to write over anything, or into a folder that holds something."""
    if ending and out.suffix != ending:
        raise ConfigError(f"--out {out}: this format is one file, whose name ends with {ending}")
    if ending and out.is_dir():
        raise UserError(f"{out}: is a folder; name a file that ends with {ending}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: already exists; choose another name")


def require_run(subject: Subject, name: str) -> "Run":
    """The subject as a run of `regard train`."""
    from regard.tasks.base import Run

    if not isinstance(subject, Run):
        raise ConfigError(f"--to {name}: a fitted table has no such format; onnx, torch and html take one")
    return subject


def settings_of(run: "Run") -> dict[str, Any]:
    """The settings of a run's task, such as its labels."""
    return dict(vars(run.task)) if run.task is not None else {}
