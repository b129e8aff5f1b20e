"""A table as delimited text, safe to open in a spreadsheet."""

import csv
import io
from typing import Any, Literal

import pandas as pd

from regard.data.tables.layout import SEPARATORS

# A spreadsheet takes a text that begins so for a formula, and runs it; the wide forms too, where Japanese is written.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def table_text(frame: pd.DataFrame, separator: str = ",", header: bool = True) -> str:
    """A table as a file has it, safe to open in a spreadsheet."""
    safe = pd.DataFrame({place: _without_formulas(frame.iloc[:, place]) for place in range(frame.shape[1])})
    names = [_without_formula(str(name)) for name in frame.columns]
    # A cell is quoted for its \r only where lines end with one, and the header says what separates all that follows.
    returns = any(safe[place].map(lambda cell: isinstance(cell, str) and "\r" in cell).any() for place in safe)
    end = "\r\n" if returns or "\r" in "".join(names) else "\n"
    doubtful = any(other in name for name in names for other in SEPARATORS)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if doubtful else csv.QUOTE_MINIMAL
    text = io.StringIO(newline="")
    if header:
        csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting).writerow(names)
    safe.to_csv(text, index=False, header=False, sep=separator, lineterminator=end, quoting=quoting)
    return text.getvalue()


def _without_formulas(cells: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return cells  # a negative number is no formula
    return cells.astype(object).map(_without_formula)


def _without_formula(cell: Any) -> Any:
    return "'" + cell if isinstance(cell, str) and cell.startswith(FORMULA) else cell
