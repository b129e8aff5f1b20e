"""A column that is said to tell times: dates, months, quarters or weeks, or numbers that count steps."""

import pandas as pd

from regard.core.errors import ConfigError
from regard.tables.encode.cells import read_datetime_cells, read_numbers, unread_dates
from regard.tables.encode.column import infer_kind

FORMS = "2024-12-31, 2024-12, 2024-Q4 or 2024-W52"


def read_times(cells: pd.Series) -> pd.Series:
    """Datetimes, in their zone if they have one, or numbers; an error names the option that said they are times."""
    kind = infer_kind(cells)
    if kind == "number":
        return pd.Series(read_numbers(cells), index=cells.index)
    if kind in ("category", "text") and unread_dates(cells)[cells.notna()].all():
        raise ConfigError(
            f"--time {cells.name}: holds no dates and no numbers, but {str(cells.dropna().iloc[0])[:40]!r}; write "
            f"dates as {FORMS}"
        )
    return read_datetime_cells(cells)
