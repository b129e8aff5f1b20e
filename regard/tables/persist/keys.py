"""Loading the ignored columns of a fitted table, which the evidence shows."""

import math
from pathlib import Path

import pandas as pd

from regard.core.files import read_json
from regard.tables.encode.keys import ignored
from regard.tables.encode.text import SHOWN
from regard.tables.persist.predictors import Estimator
from regard.tables.persist.schema import Section, shown

MAX_KEYS = 10_000


def read_keys(path: Path, estimator: Estimator) -> pd.DataFrame:
    """A column for each ignored one, with a cell for each training row."""
    rows, expected = len(estimator.tables_[0].values), ignored(estimator.kinds)
    keys = {} if not path.exists() else _read_cells(Section(path, read_json(path)), rows)
    if list(keys) != expected:
        problem = f"holds the columns {shown(list(keys))}, but {shown(expected)} are ignored"
        raise Section(path, {}).error("columns", problem)
    return pd.DataFrame(keys, index=range(rows))


def _read_cells(section: Section, rows: int) -> dict[str, pd.Series]:
    keys = {}
    for column in section.sections("columns", 1, MAX_KEYS):
        cells = column.items("cells", rows, rows)
        for number, cell in enumerate(cells):
            if isinstance(cell, str):
                column.as_text(f"cells[{number}]", cell, SHOWN)
            elif cell is not None and (not isinstance(cell, (bool, int, float)) or not _finite(cell)):
                raise column.error(f"cells[{number}]", f"must be text, a boolean or a number, not {shown(cell)}")
        keys[column.text("name")] = pd.Series(cells, dtype=object)
        column.done()
    section.done()
    return keys


def _finite(cell: bool | int | float) -> bool:
    return not isinstance(cell, float) or math.isfinite(cell)
