"""Tables as people have them: CSV and its kin and Parquet, plain or packed, in; CSV or Parquet out."""

import csv
import gzip
import io
import logging
import lzma
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow
import pyarrow.parquet

from regard.core.errors import ConfigError, UserError
from regard.core.files import atomic_file
from regard.data.decompress import COMPRESSED, open_decompressed
from regard.data.tables.layout import SEPARATORS, Layout, find_layout, name_columns
from regard.data.tables.types import MISSING, plain, read_amounts, read_dates, read_thousands
from regard.data.text.files import file_format

log = logging.getLogger(__name__)

# A spreadsheet takes a text that begins so for a formula, and runs it; the wide forms too, where Japanese is written.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NULLABLE = (pd.BooleanDtype, pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype)
_UNSIGNED = (pd.UInt8Dtype, pd.UInt16Dtype, pd.UInt32Dtype, pd.UInt64Dtype)
_INTEGERS = {pyarrow.from_numpy_dtype(kind().numpy_dtype): kind() for kind in (*_NULLABLE, *_UNSIGNED)}


def read_table(path: Path) -> pd.DataFrame:
    """A table with a typed column under each name of its header."""
    data = _data(path)
    return _parquet(path, data) if _is_parquet(path, data) else read_delimited(path, find_layout(path, data))


def read_cells(path: Path, names: Sequence[str]) -> pd.DataFrame:
    """Some columns of a table with every cell as the file has it: an identifier is no number, if it looks like one."""
    data = _data(path)
    if _is_parquet(path, data):
        return _parquet(path, data)[list(names)]
    return delimited_cells(path, find_layout(path, data), names)


def delimited_cells(path: Path, layout: Layout, names: Sequence[str]) -> pd.DataFrame:
    """Some columns of a delimited table with every cell as the file has it."""
    return _parse(path, layout.text.encode(), layout, missing=(), usecols=list(names), dtype="str")[list(names)]


def _data(path: Path) -> bytes:
    if file_format(path) == ".jsonl" or path.suffix.lower() == ".json":
        raise UserError(f"{path}: is no table; save it as CSV or Parquet")
    with open_decompressed(path) as file:
        data = file.read()
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise UserError(f"{path}: is a spreadsheet or an archive; save the sheet as CSV")
    return data


def _is_parquet(path: Path, data: bytes) -> bool:
    return file_format(path) == ".parquet" or data.startswith(b"PAR1")


def read_delimited(path: Path, layout: Layout) -> pd.DataFrame:
    """A delimited table with a typed column under each name of its header."""
    data = layout.text.encode()
    frame = _parse(path, data, layout, dtype_backend="numpy_nullable")
    if len(frame) != layout.rows:
        raise UserError(f"{path}: has {layout.rows:,} rows or {len(frame):,}; quotes and line ends leave it in doubt")
    typed = {name: plain(frame[name]) for name in frame} | _codes(path, data, layout, frame)
    for name, cells in typed.items():
        if isinstance(cells.dtype, pd.StringDtype):
            text = cells.str.strip()
            typed[name] = _from_text(path, text.mask(text.isin(MISSING)), layout.separator)
    if layout.separator == ";":
        typed |= _with_thousands(path, data, layout, frame)
    return _without_index(path, pd.DataFrame(typed), layout.unnamed)


def _parse(path: Path, data: bytes, layout: Layout, missing: Sequence[str] = MISSING, **options: Any) -> pd.DataFrame:
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
        raise UserError(f"{path}: cannot be read as a table ({str(error).splitlines()[0]})") from None


def _codes(path: Path, data: bytes, layout: Layout, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of digits in which a zero leads: as text. Few files have any, so a glance at the bytes comes first."""
    before = (layout.separator.encode(), b"\n", b"\r", b'"', b" ")
    if not any(re.search(re.escape(byte) + rb"0[0-9]", data) for byte in before):
        return {}
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    text = _parse(path, data, layout, usecols=numeric, dtype="str") if numeric else frame[[]]
    return {name: text[name] for name in text if text[name].str.match(r"\s*0\d").any()}


def _with_thousands(path: Path, data: bytes, layout: Layout, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of 1.234 that mean 1234, as where others have decimal commas; else a line says how they are read."""
    if not re.search(rb"[1-9][0-9]{0,2}\.[0-9]{3}\s*[;\r\n\"]", data):
        return {}
    numeric = [name for name in frame if pd.api.types.is_float_dtype(frame[name])]
    text = _parse(path, data, layout, usecols=numeric, dtype="str") if numeric else frame[[]]
    columns = {name: numbers for name in text if (numbers := read_thousands(text[name].str.strip())) is not None}
    if any(_has_commas(frame[name]) for name in frame if isinstance(frame[name].dtype, pd.StringDtype)):
        return columns
    for name in columns:
        cell = next(cell for cell in text[name].dropna() if "." in cell)
        log.info(f"{path}: {name!r}: {cell} is read with a decimal point; write thousands without one")
    return {}


def _has_commas(cells: pd.Series) -> bool:
    """Whether these are numbers, some with a decimal comma."""
    text = cells.str.strip()
    text = text.mask(text.isin(MISSING))
    return bool(text.str.contains(",", regex=False).any()) and read_amounts(text, ",") is not None


def _without_index(path: Path, frame: pd.DataFrame, unnamed: Sequence[str]) -> pd.DataFrame:
    """Drop unnamed columns that are empty, or that number the rows as a pandas index does."""
    first = frame.columns[0]
    for name in unnamed:
        cells = frame[name]
        counts = name == first and pd.api.types.is_integer_dtype(cells.dtype) and cells.is_unique and not cells.hasnans
        if (counts or cells.isna().all()) and frame.shape[1] > 1:
            log.info(f"{path}: {name!r} {'only numbers the rows' if counts else 'is empty'}, and is left out")
            frame = frame.drop(columns=name)
    return frame


def _from_text(path: Path, cells: pd.Series, separator: str) -> pd.Series:
    # Where ; separates, a comma is mostly a decimal point; where commas separate, one inside a cell never is.
    for point in {";": ",.", ",": "."}.get(separator, ".,"):
        if (numbers := read_amounts(cells, point)) is not None:
            return numbers
    parsed = read_dates(cells, day_first=separator == ";")  # a table from where ; separates has its day first
    if parsed is None:
        return cells
    dates, unsure = parsed
    if unsure:
        text, date = cells.dropna().iloc[0], dates.dropna().iloc[0]
        log.info(f"{path}: {cells.name!r}: {text} is taken for {date:%Y-%m-%d}; write dates like that to be sure")
    return dates


def _parquet(path: Path, data: bytes) -> pd.DataFrame:
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
        names = name_columns(path, table.column_names)
        frame = from_arrow(table.rename_columns(names))
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from None
    if frame.empty:
        raise UserError(f"{path}: has no rows" if len(frame.columns) else f"{path}: has no columns")
    return frame


def from_arrow(table: pyarrow.Table) -> pd.DataFrame:
    """An Arrow table as a frame in which whole numbers and booleans stay what they are where some are missing."""
    chosen = [place for place, name in enumerate(table.column_names) if not name.startswith("__index_level_")]
    table = table.select(chosen).replace_schema_metadata(None)  # an index of pandas' own is a column if it has a name
    frame = table.to_pandas(types_mapper=_INTEGERS.get, date_as_object=False)
    columns = {place: plain(frame.iloc[:, place]) for place in range(frame.shape[1])}
    return pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)


def check_written(path: Path) -> tuple[str, str]:
    """As what a file of this name is written, and how it is packed; refused where a table cannot be."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    kind = suffixes[-1] if suffixes else ".csv"
    if kind not in (".csv", ".tsv", ".parquet"):
        raise ConfigError(f"{path}: a table is written as .csv, .tsv or .parquet, not {kind}")
    return kind, compression


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """A table as a file that is whole or absent: Parquet, .tsv or .csv by its name, packed if that says so. As text it
    is safe to open in a spreadsheet."""
    kind, compression = check_written(path)
    if kind == ".parquet":
        stream = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), stream)
        data = stream.getvalue().to_pybytes()
    else:
        data = table_text(frame, "\t" if kind == ".tsv" else ",").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as temporary:
            temporary.write_bytes(_compressed(data, compression))
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from None


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


def _compressed(data: bytes, compression: str) -> bytes:
    if compression == ".gz":
        return gzip.compress(data, mtime=0)
    if compression == ".xz":
        return lzma.compress(data)
    if compression == ".zst":
        return pyarrow.compress(data, codec="zstd", asbytes=True)
    return data
