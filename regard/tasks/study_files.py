"""The files of an ablation.

A task can be ablated if its `recipe.py` has a function `ablation_base(files: StudyFiles) -> Plan`: the recipe's data
and batches with a plain model, which `regard study ablate` then sizes and changes.
"""

from dataclasses import dataclass

from regard.core.errors import ConfigError


@dataclass(frozen=True)
class StudyFiles:
    data: tuple[str, ...]
    valid: tuple[str, ...] = ()  # empty: a fraction of the data
    target: str | None = None  # the column to predict, of a table
    length: int = 64  # of a window, for running text

    def need_valid(self, what: str) -> None:
        if not self.valid:
            raise ConfigError(f"--valid: needs {what} to validate on")
