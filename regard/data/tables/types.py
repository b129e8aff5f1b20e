"""What the cells of a column are: numbers, booleans, dates, or text. A column is what all its filled cells are.

Codes with leading zeros stay text, for `007` is no seven. Whole numbers stay whole where some are missing. Amounts are
numbers, be it with a currency, a percent sign or marks between thousands, where all of a column are of one unit.
"""

import re

import pandas as pd

# What people write where they know nothing. "none" and "na" are left alone: they are answers as often as gaps.
MISSING = (
    "", " ", "NA", "N/A", "n/a", "N/a", "N.A.", "n.a.", "n. a.", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL",
    "Null", "None", "?", "-", "--", "–", "—", ".", "k.A.", "k. A.", "K.A.", "k.A", "keine Angabe", "Keine Angabe",
    "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#NV",
)  # fmt: skip

_ISO = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
_ZONED = r"\d\d:\d\d.*?(Z|[+-]\d\d:?\d\d)$"
_MIDNIGHT = r".{10}[T ]00:00(?::00(?:\.0+)?)? ?(?:Z|[+-]\d\d:?\d\d)"
_LIKE_A_DATE = re.compile(r"\d{1,4}[-/. ](?:\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4}|[A-Za-z]{3,9} \d{1,2}, ?\d{4}")
_FORMS = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y")
_AMBIGUOUS = (  # month or day first: the cells must tell
    ("%m/%d/%Y", "%d/%m/%Y"), ("%m-%d-%Y", "%d-%m-%Y"), ("%m/%d/%y", "%d/%m/%y"),
)  # fmt: skip
_CLOCKS = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}  # by the number of colons

_SPACE = " \u00a0\u202f"
_UNIT = "[$€£¥₹]|EUR|USD|GBP|CHF"
_AMOUNT = (  # -5, €5, -€5, 5 €, 5 %, and (5), which is how accountants write -5
    rf"(?P<open>\()?(?P<sign>[+−-])?(?P<before>{_UNIT})?[{_SPACE}]?(?P<digits>[0-9.,'’{_SPACE}]*[0-9])"
    rf"(?P<power>[eE][+-]?[0-9]+)?[{_SPACE}]?(?P<after>{_UNIT}|%)?(?P<close>\))?"
)
_DIGITS = {  # 1234.5, 1,234.5 or 1 234.5; and as much of Europe writes it
    ".": rf"(?:[1-9][0-9]{{0,2}}(?:[,'’{_SPACE}][0-9]{{3}})+|[0-9]*)(?:\.[0-9]+)?",
    ",": rf"(?:[1-9][0-9]{{0,2}}(?:[.'’{_SPACE}][0-9]{{3}})+|[0-9]*)(?:,[0-9]+)?",
}


def plain(cells: pd.Series) -> pd.Series:
    """Without pandas' nullable types where they are not needed: whole numbers and booleans with nothing missing, and
    floats, which know how to be missing by themselves."""
    if isinstance(cells.dtype, pd.StringDtype):
        return cells.astype("str")
    if cells.isna().all() or pd.api.types.is_float_dtype(cells.dtype):
        return cells.astype("float64") if pd.api.types.is_any_real_numeric_dtype(cells.dtype) else cells
    if cells.hasnans or not isinstance(cells.dtype, pd.api.extensions.ExtensionDtype):
        return cells
    if pd.api.types.is_bool_dtype(cells.dtype) or pd.api.types.is_integer_dtype(cells.dtype):
        return cells.astype(cells.dtype.numpy_dtype)
    return cells


def read_amounts(text: pd.Series, point: str) -> pd.Series | None:
    """Numbers as people write them, with this decimal point; nothing where a cell is none, or is of another unit."""
    codes, cells = _distinct(text)
    if not len(cells) or not re.fullmatch(_AMOUNT, cells.iloc[0]):
        return None
    parts = cells.str.extract(f"^{_AMOUNT}$").fillna("")
    digits, negative = parts["digits"], parts["open"].eq("(")
    if not (digits.ne("") & digits.str.fullmatch(_DIGITS[point])).all() or digits.str.match("0[0-9]").any():
        return None
    if cells.str.fullmatch("[+-]?[0-9]+").all():  # and yet no number to pandas: names of more digits than one can have
        return None
    if (parts["before"] + parts["after"]).nunique() > 1 or negative.ne(parts["close"].eq(")")).any() or negative.all():
        return None
    plain = digits.str.replace(f"[^0-9{point}]", "", regex=True).str.replace(",", ".") + parts["power"]
    numbers = pd.to_numeric(plain).astype("float64")
    return _spread(numbers.mask(negative | parts["sign"].isin(["-", "−"]), -numbers), codes, text)


def like_amounts(text: pd.Series) -> dict[str, pd.Series]:
    """Which cells are numbers as people write them, for each decimal point, in the unit that most of them have."""
    codes, cells = _distinct(text.str.strip())
    parts = cells.str.extract(f"^{_AMOUNT}$").fillna("")
    digits, paired = parts["digits"], parts["open"].eq("(") == parts["close"].eq(")")
    digits = digits.mask(digits.str.match("0[0-9]") | ~paired, "")
    plain = pd.to_numeric(cells, errors="coerce").notna()
    unit = (parts["before"] + parts["after"]).reindex(codes).set_axis(text.index)  # missing of a missing cell
    fitting = dict[str, pd.Series]()
    for point, form in _DIGITS.items():
        fits = digits.ne("") & digits.str.fullmatch(form).astype(bool) | (plain if point == "." else False)
        fits = fits.reindex(codes, fill_value=False).set_axis(text.index)
        fitting[point] = fits & unit.eq(unit[fits].mode().iloc[0]) if fits.any() else fits
    return fitting


def most_amounts(text: pd.Series) -> pd.Series:
    """Which cells are numbers in the way in which most of the column are written."""
    fitting = like_amounts(text)
    return max(fitting.values(), key=lambda cells: int(cells.sum()))


def read_thousands(text: pd.Series) -> pd.Series | None:
    """Whole numbers whose points part thousands, 1.234 for 1234; nothing where no cell has such a point, or one can be
    no such number."""
    codes, cells = _distinct(text)
    grouped = cells.str.fullmatch(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
    if not grouped.any() or not (grouped | cells.str.fullmatch("[+-]?[0-9]{1,3}")).all():
        return None
    return _spread(pd.to_numeric(cells.str.replace(".", "")).astype("float64"), codes, text)


def read_dates(text: pd.Series, day_first: bool = False) -> tuple[pd.Series, bool] | None:
    """Dates where every filled cell is one, all in one form; and whether day and month could be swapped, in which case
    `day_first` decides. Nothing where a cell is no date."""
    codes, cells = _distinct(text)
    if not len(cells) or not _LIKE_A_DATE.match(cells.iloc[0]):
        return None
    parsed = _dates(cells, day_first)
    return None if parsed is None else (_spread(parsed[0], codes, text), parsed[1])


def like_dates(text: pd.Series) -> pd.Series:
    """Which cells are written like a date, be it one of the calendar or not."""
    return text.str.match(_LIKE_A_DATE)


def _dates(cells: pd.Series, day_first: bool) -> tuple[pd.Series, bool] | None:
    if cells.str.fullmatch(_ISO).all():
        several = len(offsets(cells)) > 1
        if several and cells.str.fullmatch(_MIDNIGHT).all():  # days, which daylight saving makes 23 hours long, or 25
            cells, several = cells.str[:10], False
        dates = _parse(cells, "ISO8601", utc=several)
        return None if dates is None else (dates, False)
    first = cells.iloc[0]
    clock = _CLOCKS.get(first.count(":"), "")
    if first.upper().endswith(("AM", "PM")):
        clock = clock.replace("%H", "%I") + " %p"
    for form in _FORMS:
        if (dates := _parse(cells, form + clock)) is not None:
            return dates, False
    for forms in _AMBIGUOUS:
        both = [_parse(cells, form + clock) for form in forms]
        fitting = [dates for dates in both if dates is not None]
        if fitting:
            return fitting[-1 if day_first else 0], len(fitting) == 2 and not fitting[0].equals(fitting[1])
    return None


def offsets(text: pd.Series) -> set[str]:
    """The offsets from UTC that times are written with, among them an empty one where a time has none."""
    written = text.dropna().str.extract(_ZONED)[0].fillna("").unique()
    return {"+00:00" if offset == "Z" else f"{offset[:3]}:{offset[-2:]}" if offset else "" for offset in written}


def _parse(cells: pd.Series, form: str, utc: bool = False) -> pd.Series | None:
    try:
        return pd.to_datetime(cells, format=form, utc=utc)
    except ValueError:  # also what lies outside the calendar
        return None


def _distinct(text: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Where each cell stands among the distinct filled ones, and these: each is parsed once."""
    codes, cells = pd.factorize(text)
    return pd.Series(codes, index=text.index), pd.Series(cells, dtype="str")


def _spread(values: pd.Series, codes: pd.Series, like: pd.Series) -> pd.Series:
    spread = values.reindex(codes.to_numpy())  # -1, the code of a missing cell, is no place of theirs
    return spread.set_axis(like.index).rename(like.name)
