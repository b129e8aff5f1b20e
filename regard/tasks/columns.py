"""The names of columns in the files of training, by which later files of the same form are read."""

from collections.abc import Mapping
from typing import Any

from regard.store import CONFIG, read_config
from regard.tasks.base import Run


def training_data(run: Run) -> Mapping[str, Any]:
    """The data settings of a run, as plain values; another library's folder has none."""
    data = read_config(run.path).get("data") if (run.path / CONFIG).exists() else None
    return data if isinstance(data, dict) else {}


def training_columns(run: Run) -> tuple[str, ...]:
    return tuple(map(str, training_data(run).get("columns") or ()))
