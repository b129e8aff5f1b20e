"""How a delimited table is laid out: its letters, its separator, its header, and whether every row is as long as that.

Nothing is guessed from letters or digits. A separator is what cuts the header and the first rows into equally many
fields, once all that stands between quotes is out of sight.
"""

import codecs
import csv
import io
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.core.errors import UserError
from regard.data.tables.source import TableSource
from regard.data.text.files import not_csv

log = logging.getLogger(__name__)

SEPARATORS = ("\t", ";", "|", ",")
SAMPLE = 1 << 16  # characters to find the separator in
ROWS = 50  # rows of them

# A quote opens at the start of a field only: in `5" pipe` it is a letter like any other.
_QUOTED = re.compile(r'(?:\A|(?<=[,;|\t\r\n ]))"(?:[^"]|"")*(?:"|\Z)')
_DIRECTIVE = re.compile(r'"?sep=([,;|\t])"?[ \t]*(?:\r\n|\r|\n)')  # what Excel reads as its separator
_ENDS = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Layout:
    """A table's text from its header on, and how to cut it."""

    text: str
    separator: str
    spaced: bool  # a space follows each separator and is no part of the cell
    names: tuple[str, ...]
    unnamed: tuple[str, ...]  # those that the header left blank
    rows: int


def find_layout(source: TableSource, data: bytes, skipped: int = 0) -> Layout:
    """The layout of a table; errors count lines as if `skipped` more stood between its header and its rows."""
    text = decode(source, data)
    if not text.strip():
        raise UserError(f"{source}: is empty; a header and rows are needed")
    directive = _DIRECTIVE.match(text)
    line = 1 + skipped
    if directive:
        text, line = text[directive.end() :], line + 1
    sample = _sample(text)
    separator = directive.group(1) if directive else find_separator(sample, source.path.name.lower())
    spaced = len(sample) > 1 and all(row.count(separator) == row.count(separator + " ") > 0 for row in sample)
    header, rows = _check_rows(source, text, line, separator, spaced)
    names = name_columns(source, header)
    unnamed = tuple(name for name, cell in zip(names, header, strict=True) if not cell.strip())
    return Layout(text, separator, spaced, names, unnamed, rows)


def decode(source: object, data: bytes) -> str:
    """UTF-8 or UTF-16 with a mark; what is neither is read as Western European, with a line about it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise UserError(f"{source}: is not UTF-16, as its first bytes say ({error.reason})") from None
    if b"\0" in data:
        raise UserError(f"{source}: is not a table in text form (it holds zero bytes); save it as CSV or Parquet")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    name = "Windows-1252"
    try:
        text = data.decode("cp1252")  # latin-1 with a euro sign and curly quotes, which is what "latin-1" mostly is
    except UnicodeDecodeError:
        name, text = "latin-1", data.decode("latin-1")
    log.info(f"{source}, line {line}: is not UTF-8; the file is read as {name}")
    return text


def _sample(text: str) -> list[str]:
    """The first rows without what stands between quotes."""
    rows = _ENDS.split(_QUOTED.sub("", text[:SAMPLE]))
    if len(text) > SAMPLE and len(rows) > 1:
        rows.pop()  # cut in the middle
    return [row for row in rows if row.strip(" ")][:ROWS]


def find_separator(sample: Sequence[str], name: str) -> str:
    """The one that cuts most rows as it cuts the header, and into the most fields."""
    header = sample[0] if sample else ""
    usual = "\t" if ".tsv" in name else ","
    if usual == "\t" and "\t" in header:
        return "\t"

    def fit(separator: str) -> tuple[float, int]:
        cuts = header.count(separator)
        alike = sum(row.count(separator) == cuts for row in sample)
        return (alike / len(sample), cuts) if cuts else (0.0, 0)

    fits = {separator: fit(separator) for separator in SEPARATORS}
    best = max(fits, key=lambda separator: fits[separator])
    if best == "," and fits[";"][0] == 1:
        return ";"  # "price, EUR;area, m²" over "1,5;80,5": commas may be as regular as what they stand between
    return best if fits[best][1] else usual


def _check_rows(source: object, text: str, line: int, separator: str, spaced: bool) -> tuple[list[str], int]:
    """The header and the number of rows, once every row is known to have as many fields: pandas would fill up short
    rows in silence."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=spaced, strict=True)
    header: list[str] = []
    start = line  # where the record stands that is being read
    rows = 0
    try:
        for fields in reader:
            if len(fields) == len(header) > 1:
                rows += 1
            elif _is_blank(fields):
                pass
            elif not header:
                header = fields
            elif len(fields) == len(header):
                rows += 1
            else:
                hint = f"; quote a cell with {separator!r} in it" if len(fields) > len(header) else ""
                if len(header) == 1:
                    hint = f"; remove what stands above the header: {header[0][:40]!r}"
                raise UserError(f"{source}, line {start}: has {len(fields)} fields, the header {len(header)}{hint}")
            start = line + reader.line_num
    except csv.Error as error:
        raise not_csv(source, start, error, instead=".parquet") from None
    if not rows:
        raise UserError(f"{source}: has a header and no rows")
    return header, rows


def _is_blank(fields: Sequence[str]) -> bool:
    """Whether a record is a blank line, which is no row; a cell of two quotes is one."""
    return not fields or (len(fields) == 1 and fields[0] != "" and not fields[0].strip(" \t"))


def name_columns(source: object, header: Sequence[str]) -> tuple[str, ...]:
    """The names of the header, each non-empty and unique; changes are reported."""
    stripped = [name.strip() for name in header]
    if all(_is_number(name) for name in stripped):
        log.info(f"{source}: the first line holds numbers only, and is read as names of columns; is a header missing?")
    names: list[str] = []
    for place, name in enumerate(stripped, 1):
        unique = _unused(name or f"column {place}", {*names, *stripped[place:]} if not name else set(names), stripped)
        if not name:
            log.info(f"{source}: column {place} has no name, and is read as {unique!r}")
        elif unique != name:
            log.info(f"{source}: column {place} is called {name!r} like one before it, and is read as {unique!r}")
        names.append(unique)
    return tuple(names)


def _unused(name: str, taken: set[str], stripped: Sequence[str]) -> str:
    """The name itself, or the first of `name.2`, `name.3`, … that no column has."""
    number, free = 1, name
    while free in taken or (number > 1 and free in stripped):
        number += 1
        free = f"{name}.{number}"
    return free


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
