"""Delimited text (CSV, TSV) as a typed table: the types of its cells."""

import csv
import io
import logging
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from regard.core.errors import UserError
from regard.data.tables.layout import Layout
from regard.data.tables.types import MISSING, offsets, plain, read_amounts, read_dates, read_thousands

log = logging.getLogger(__name__)


def read_delimited(source: object, layout: Layout) -> pd.DataFrame:
    """A delimited table with a typed column under each name of its header."""
    data = layout.text.encode()
    frame = _parse(source, data, layout, dtype_backend="numpy_nullable")
    if len(frame) != layout.rows:
        raise UserError(f"{source}: has {layout.rows:,} rows or {len(frame):,}; quotes and line ends leave it in doubt")
    typed = {name: plain(frame[name]) for name in frame} | _codes(source, data, layout, frame)
    for name, cells in typed.items():
        if isinstance(cells.dtype, pd.StringDtype):
            text = cells.str.strip()
            typed[name] = _from_text(source, text.mask(text.isin(MISSING)), layout.separator)
    if layout.separator == ";":
        typed |= _with_thousands(source, data, layout, frame)
    return without_index(source, pd.DataFrame(typed), layout.unnamed)


def delimited_cells(source: object, layout: Layout, names: Sequence[str]) -> pd.DataFrame:
    """Some columns of a delimited table with every cell as the file has it."""
    return _parse(source, layout.text.encode(), layout, missing=(), usecols=list(names), dtype="str")[list(names)]


def _parse(
    source: object, data: bytes, layout: Layout, missing: Sequence[str] = MISSING, **options: Any
) -> pd.DataFrame:
    try:
        return pd.read_csv(
            io.BytesIO(data),
            sep=layout.separator,
            skipinitialspace=layout.spaced,
            header=0,
            names=list(layout.names),
            index_col=False,
            keep_default_na=False,
            na_values=list(missing),
            low_memory=False,  # else a type is guessed for each part of a column by itself
            **options,
        )
    except (pd.errors.ParserError, ValueError) as error:
        raise UserError(f"{source}: cannot be read as a table ({str(error).splitlines()[0]})") from None


def _codes(source: object, data: bytes, layout: Layout, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of digits in which a zero leads: as text. Few files have any, so a glance at the bytes comes first."""
    before = (layout.separator.encode(), b"\n", b"\r", b'"', b" ")
    if not any(re.search(re.escape(byte) + rb"0[0-9]", data) for byte in before):
        return {}
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    text = _parse(source, data, layout, usecols=numeric, dtype="str") if numeric else frame[[]]
    return {name: text[name] for name in text if text[name].str.match(r"\s*0\d").any()}


def _with_thousands(source: object, data: bytes, layout: Layout, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of 1.234 that mean 1234, as where others have decimal commas; else a line says how they are read."""
    if not re.search(rb"[1-9][0-9]{0,2}\.[0-9]{3}\s*[;\r\n\"]", data):
        return {}
    numeric = [name for name in frame if pd.api.types.is_float_dtype(frame[name])]
    text = _parse(source, data, layout, usecols=numeric, dtype="str") if numeric else frame[[]]
    columns = {name: numbers for name in text if (numbers := read_thousands(text[name].str.strip())) is not None}
    if any(_has_commas(frame[name]) for name in frame if isinstance(frame[name].dtype, pd.StringDtype)):
        return columns
    for name in columns:
        cell = next(cell for cell in text[name].dropna() if "." in cell)
        log.info(f"{source}: {name!r}: {cell} is read with a decimal point; write thousands without one")
    return {}


def _has_commas(cells: pd.Series) -> bool:
    """Whether these are numbers, some with a decimal comma."""
    text = cells.str.strip()
    text = text.mask(text.isin(MISSING))
    return bool(text.str.contains(",", regex=False).any()) and read_amounts(text, ",") is not None


def without_index(source: object, frame: pd.DataFrame, unnamed: Sequence[str]) -> pd.DataFrame:
    """Drop unnamed columns that are empty, or that number the rows as a pandas index does."""
    first = frame.columns[0]
    for name in unnamed:
        cells = frame[name]
        counts = name == first and pd.api.types.is_integer_dtype(cells.dtype) and cells.is_unique and not cells.hasnans
        if (counts or cells.isna().all()) and frame.shape[1] > 1:
            log.info(f"{source}: {name!r} {'only numbers the rows' if counts else 'is empty'}, and is left out")
            frame = frame.drop(columns=name)
    return frame


def _from_text(source: object, cells: pd.Series, separator: str) -> pd.Series:
    # Where ; separates, a comma is mostly a decimal point; elsewhere where it cannot part thousands.
    for point in {";": ",."}.get(separator, ".,"):
        if (numbers := read_amounts(cells, point)) is not None:
            if (separator, point) == (",", ","):
                place = cells.str.contains(",", regex=False).fillna(False).argmax()
                log.info(f"{source}: {cells.name!r}: {cells.iloc[place]} is read as {numbers.iloc[place]:.10g}")
            return numbers
    parsed = read_dates(cells, day_first=separator == ";")  # a table from where ; separates has its day first
    if parsed is None:
        return cells
    dates, unsure = parsed
    if unsure:
        text, date = cells.dropna().iloc[0], dates.dropna().iloc[0]
        log.info(f"{source}: {cells.name!r}: {text} is taken for {date:%Y-%m-%d}; write dates like that to be sure")
    if getattr(dates.dtype, "tz", None) is not None and len(several := offsets(cells)) > 1:
        named = " and ".join(sorted(offset or "none" for offset in several)[:3])
        log.info(f"{source}: {cells.name!r}: its offsets from UTC change ({named}), and it is read in UTC (+00:00)")
    return dates


def type_text(source: object, frame: pd.DataFrame, separator: str = "\t", unnamed: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of text, typed as those of a delimited file; `separator` says how its numbers and dates are written."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(frame.columns)
    writer.writerows(frame.astype(object).where(frame.notna(), "").itertuples(index=False, name=None))
    names = tuple(map(str, frame.columns))
    return read_delimited(source, Layout(text.getvalue(), separator, False, names, tuple(unnamed), len(frame)))
