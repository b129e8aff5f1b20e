"""Checks of options that need neither a table nor a model: they come first, as both take seconds to load."""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.core.errors import ConfigError, did_you_mean


def check_levels(levels: Sequence[float]) -> None:
    if not all(0 < level < 1 for level in levels):
        raise ConfigError(f"quantiles: must lie between 0 and 1, not {list(levels)}")


def check_probability(threshold: float | None) -> None:
    if threshold is not None and not 0 < threshold < 1:
        raise ConfigError(f"--threshold {threshold:g}: must lie between 0 and 1")


def check_two_classes(threshold: float | None, config: Mapping[str, Any]) -> None:
    """Refuse a threshold for a run that predicts something else, as its config says."""
    targets = config.get("targets")
    if threshold is None or not isinstance(targets, list) or not all(isinstance(one, dict) for one in targets):
        return
    if len(targets) > 1:
        raise ConfigError(f"--threshold {threshold:g}: is for a run with one target, not {len(targets)}")
    if [len(one.get("labels") or ()) for one in targets] != [2]:
        raise ConfigError(f"--threshold {threshold:g}: is for a target with two classes")


def check_columns(names: Sequence[str], table: Sequence[str]) -> None:
    """Refuse names of columns to keep that the table does not have."""
    for name in names:
        if name not in table:
            raise ConfigError(f"the table has no column {name!r} (--keep); {did_you_mean(name, table)}")
