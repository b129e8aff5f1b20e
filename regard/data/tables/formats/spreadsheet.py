"""Spreadsheets: one sheet is a table. Excel's .xlsx, .xlsm, .xlsb and .xls, and OpenDocument's .ods.

They are read by calamine, which is some twenty times as fast as openpyxl and odfpy; these write, which it
cannot. Formulas count by the value that the program which saved the file had computed.
"""

import io
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from shlex import quote
from typing import Any, ClassVar

import pandas as pd

from regard.core.errors import ConfigError, UserError, did_you_mean, one_line
from regard.core.extras import require
from regard.data.tables.cells import cells_as_stored, type_columns
from regard.data.tables.delimited import without_index
from regard.data.tables.formats.base import FileFormat
from regard.data.tables.layout import name_columns
from regard.data.tables.plain_values import plain_columns
from regard.data.tables.source import TableSource

log = logging.getLogger(__name__)

DEFAULT_SHEET = "predictions"
MAX_ROWS = 1_048_576  # of a sheet, with the header
MAX_COLUMNS = 16_384
MAX_CHARACTERS = 32_767  # of a cell
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # what XML cannot hold
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\]")


class Spreadsheet(FileFormat):
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    written: ClassVar[tuple[str, ...]] = (".xlsx", ".ods")
    part: ClassVar[str] = "sheet"

    def read(self, source: TableSource) -> pd.DataFrame:
        columns, unnamed = _columns(source)
        return without_index(source, type_columns(source, columns, whole=True), unnamed)

    def cells(self, source: TableSource, names: Sequence[str]) -> pd.DataFrame:
        columns, _ = _columns(source)
        return cells_as_stored(source, {name: columns[name] for name in names}, whole=True)

    def check_write(self, target: TableSource) -> None:
        require("files", f"writing {target.suffix}")
        if target.part and target.path.exists():
            raise ConfigError(f"{target}: {target.path} exists, and a spreadsheet is written anew; name another file")
        if len(target.part) > 31 or _NOT_IN_NAMES.search(target.part):
            raise ConfigError(f"{target}: the name of a sheet has at most 31 characters, and none of []:*?/\\")

    def write_to(self, frames: Iterable[pd.DataFrame], target: TableSource, file: Any) -> None:
        from regard.data.tables.formats.sheet_writers import write_ods, write_xlsx

        write = write_ods if target.suffix == ".ods" else write_xlsx
        data, rows = io.BytesIO(), list(_checked_rows(frames, target))  # all are checked before a writer is open
        write(rows, target.part or DEFAULT_SHEET, data)
        file.write(data.getvalue())


def _checked_rows(frames: Iterable[pd.DataFrame], target: TableSource) -> Iterator[Sequence[Any]]:
    """The header and the rows, refused where a sheet cannot hold them."""
    row = -1  # the header; the first row is 0, as everywhere
    for frame in frames:
        names = list(map(str, frame.columns))
        if len(names) > MAX_COLUMNS:
            raise UserError(f"{target}: a sheet holds {MAX_COLUMNS:,} columns, not {len(names):,}; write .parquet")
        records = zip(*plain_columns(frame, float_integers=True), strict=True)
        for cells in chain([names], records) if row < 0 else records:
            for name, cell in zip(names, cells, strict=True):
                if isinstance(cell, str) and (len(cell) > MAX_CHARACTERS or _UNPRINTABLE.search(cell)):
                    reason = "is too long for" if len(cell) > MAX_CHARACTERS else "has a character that cannot be in"
                    raise UserError(f"{target}: {name!r}, row {row}: the text {reason} a sheet; write .csv")
            yield cells
            row += 1
        if row >= MAX_ROWS:
            raise UserError(f"{target}: a sheet holds {MAX_ROWS:,} rows with its header; write .parquet or .csv")


def _columns(source: TableSource) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """The cells under each name of the header, and the names that the header left blank."""
    rows, shown = _rows(source)
    columns = [cells for cells in zip(*rows, strict=True) if any(cell != "" for cell in cells)]
    names = [_name(cells[0]) for cells in columns]
    if len(rows) == 1:
        raise UserError(f"{shown}: has a header and no rows")
    if names[0].strip() and len(names) > 1 and not any(name.strip() for name in names[1:]):
        raise UserError(f"{shown}: its first row holds {names[0][:40]!r} alone; remove what stands above the header")
    unique = name_columns(shown, names)
    unnamed = tuple(new for new, name in zip(unique, names, strict=True) if not name.strip())
    return {name: list(cells[1:]) for name, cells in zip(unique, columns, strict=True)}, unnamed


def _name(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _rows(source: TableSource) -> tuple[list[list[Any]], TableSource]:
    """The filled rows of a sheet, and where they are."""
    require("files", f"reading {source.suffix}")
    from python_calamine import CalamineError, CalamineWorkbook

    with source.open() as file:
        data = io.BytesIO(file.read())
    try:
        book = CalamineWorkbook.from_filelike(data)
        sheet = book.get_sheet_by_name(_sheet_name(source, book))
        rows = [row for row in sheet.to_python() if any(cell != "" for cell in row)]
        merged = sheet.merged_cell_ranges or []
    except UserError:
        raise
    except (CalamineError, OSError, ValueError) as error:
        raise UserError(f"{source}: cannot be read as a spreadsheet ({one_line(error)})") from None
    shown = TableSource(source.path, sheet.name)
    if not rows or sheet.start is None:
        raise UserError(f"{shown}: is empty; a header and rows are needed")
    _check_header(shown, sheet.start[0], merged)
    return rows, shown


def _sheet_name(source: TableSource, book: Any) -> str:
    """The sheet that was named, or the first that is visible and has data; other ones with data are reported."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    names = [sheet.name for sheet in sheets]
    if source.part:
        if source.part in names:
            return source.part
        raise ConfigError(f"{source.path}: has no sheet {source.part!r}; {did_you_mean(source.part, names)}")
    visible = [sheet.name for sheet in sheets if sheet.visible == SheetVisibleEnum.Visible]
    filled = visible or names
    if len(filled) > 1:
        filled = [name for name in filled if book.get_sheet_by_name(name).height]
    if not filled:
        raise UserError(f"{source}: has no sheet with data")
    if len(filled) > 1:
        others, named = ", ".join(map(repr, filled[1:])), quote(f"{source}::{filled[1]}")
        log.info(f"{source}: sheet {filled[0]!r} is read; others are {others}: name one as {named}")
    return filled[0]


def _check_header(shown: TableSource, header: int, merged: Sequence[Any]) -> None:
    """Refuse merged cells in the header: they are names of several columns, or a header of several rows."""
    for (top, left), (bottom, right) in merged:
        cell = f"cell {_column_letters(left)}{top + 1}"
        if top <= header <= bottom:
            raise UserError(f"{shown}, {cell}: is merged with others; give each column one name of its own in one row")
        log.info(f"{shown}, {cell}: is merged with others down to {_column_letters(right)}{bottom + 1}; they are empty")
        return


def _column_letters(place: int) -> str:
    return (_column_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)
