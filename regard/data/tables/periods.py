"""Months, quarters and ISO weeks as people write them: `2015-01`, `Jan 2015`, `01.2015`, `2019-Q1`, `2020-W02`.

A table leaves them text, for `2009-10` may be a season as well as a month. A column that is said to tell times is read
with them: a period is its first day.
"""

import pandas as pd

_YEAR, _MONTH, _NAME, _LONG = r"\d{4}", r"\d{1,2}", "[A-Za-z]{3}", "[A-Za-z]{3,9}"
_FORMS = {  # how cells are parsed and written, and what they look like
    "%Y-%m": rf"{_YEAR}-{_MONTH}",
    "%Y/%m": rf"{_YEAR}/{_MONTH}",
    "%m.%Y": rf"{_MONTH}\.{_YEAR}",
    "%m/%Y": rf"{_MONTH}/{_YEAR}",
    "%m-%Y": rf"{_MONTH}-{_YEAR}",
    "%b %Y": rf"{_NAME} {_YEAR}",
    "%b-%Y": rf"{_NAME}-{_YEAR}",
    "%B %Y": rf"{_LONG} {_YEAR}",
    "%G-W%V": rf"{_YEAR}-W\d\d",
    "%GW%V": rf"{_YEAR}W\d\d",
    "%Y-Q{}": rf"{_YEAR}-Q[1-4]",
    "%Y Q{}": rf"{_YEAR} Q[1-4]",
    "%YQ{}": rf"{_YEAR}Q[1-4]",
    "Q{} %Y": rf"Q[1-4] {_YEAR}",
    "Q{}-%Y": rf"Q[1-4]-{_YEAR}",
    "Q{}/%Y": rf"Q[1-4]/{_YEAR}",
}


def read_periods(text: pd.Series) -> tuple[pd.Series, str] | None:
    """The first day of each period, and the form in which they are written; nothing where a cell is none of that form.
    The form is empty if it would write some of them otherwise."""
    cells = text.dropna()
    for form, pattern in _FORMS.items():
        if len(cells) and cells.str.fullmatch(pattern).all() and (days := _parse(cells, form)) is not None:
            same = write_periods(days, form).tolist() == cells.tolist()
            return days.reindex(text.index), form if same else ""
    return None


def write_periods(days: pd.Series, form: str) -> pd.Series:
    """The periods that begin on these days, in one of the forms."""
    return days.map(lambda day: day.strftime(form.format(day.quarter)), na_action="ignore").astype("str")


def _parse(cells: pd.Series, form: str) -> pd.Series | None:
    if "{}" in form:  # a quarter, of which nothing knows the format
        year, quarter = (cells.str.extract(rf"({part})")[0] for part in (_YEAR, r"(?<=Q)\d"))
        cells, form = year + "-" + (3 * quarter.astype(int) - 2).astype(str), "%Y-%m"
    elif "%V" in form:
        cells, form = cells + "-1", form + "-%u"  # Monday
    try:
        return pd.to_datetime(cells, format=form)
    except ValueError:  # a month 13
        return None
