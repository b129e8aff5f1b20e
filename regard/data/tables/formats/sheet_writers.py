"""A sheet in a new file: .xlsx by openpyxl, .ods by odfpy. Text is text, and never a formula."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from io import BytesIO
from typing import Any

EXCEL_START = date(1900, 3, 1)  # before it, the days of Excel are off by one: 1900 is no leap year


def write_xlsx(rows: Iterable[Sequence[Any]], sheet: str, file: BytesIO) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    def as_text(text: str) -> Any:
        cell = WriteOnlyCell(page, text)
        cell.data_type = "s"
        return cell

    book = Workbook(write_only=True)
    page = book.create_sheet(sheet)
    for row in rows:
        cells = [str(cell) if isinstance(cell, date) and _day(cell) < EXCEL_START else cell for cell in row]
        # openpyxl takes a text that begins so for a formula or an error of a formula
        page.append(
            [as_text(cell) if isinstance(cell, str) and cell.startswith(("=", "#")) else cell for cell in cells]
        )
    book.save(file)


def _day(cell: date) -> date:
    return cell.date() if isinstance(cell, datetime) else cell


def write_ods(rows: Iterable[Sequence[Any]], sheet: str, file: BytesIO) -> None:
    with _unchanged_path():
        from odf.opendocument import OpenDocumentSpreadsheet
        from odf.table import Table, TableRow

        book = OpenDocumentSpreadsheet()
        page = Table(name=sheet)
        book.spreadsheet.addElement(page)
        for row in rows:
            line = TableRow()
            for cell in row:
                line.addElement(_ods_cell(cell))
            page.addElement(line)
        book.write(file)


@contextmanager
def _unchanged_path() -> Iterator[None]:
    """odfpy adds its own folder to the path, whose modules (text, table, …) would hide those of others."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


def _ods_cell(cell: Any) -> Any:
    from odf.table import TableCell
    from odf.teletype import addTextToElement
    from odf.text import P

    if cell is None:
        return TableCell()
    if isinstance(cell, bool):
        element = TableCell(valuetype="boolean", booleanvalue=str(cell).lower())
    elif isinstance(cell, (int, float)):
        element = TableCell(valuetype="float", value=repr(cell))
    elif isinstance(cell, date):
        element = TableCell(valuetype="date", datevalue=cell.isoformat())
    else:
        element = TableCell(valuetype="string")
    for line in str(cell).split("\n"):  # a paragraph each
        paragraph = P()
        addTextToElement(paragraph, line)
        element.addElement(paragraph)
    return element
