"""Files of records and documents: .txt, .tsv, .csv, .jsonl, .parquet and .arrow, plain or compressed with .gz, .xz or
.zst; and folders of Hugging Face's `datasets`.

Everything is read as a stream; errors name the file and the line.
"""

import csv
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, UserError, did_you_mean, one_line
from regard.data.arrow_columns import choose, columns_of, dataset_files, is_dataset, read_columns
from regard.data.decompress import compression_of
from regard.data.text.lines import read_lines

log = logging.getLogger(__name__)
FORMATS = (".txt", ".tsv", ".csv", ".jsonl", ".parquet", ".arrow")
ALIASES = {".json": ".jsonl", ".ndjson": ".jsonl"}  # a file that is one JSON document fails on its first line
TEXT = ("text",)  # the field of a document


@dataclass(frozen=True)
class Row:
    """One record and where it was read from."""

    file: Path
    line: int
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True)
class Fields:
    """The fields to read of each record, by name."""

    names: tuple[str, ...]
    required: bool = False  # a header must have these names, because the user gave them
    hint: str = ""  # added to the error if a file has no such field

    @staticmethod
    def named(names: tuple[str, ...], columns: Sequence[str]) -> "Fields":
        """The user's `columns` if given, else the usual `names`."""
        return Fields(tuple(columns) or names, bool(columns), f"; set the {_column_names(names)} with --columns")


def check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a wrong number of column names, or the same one twice."""
    if columns and (len(columns) != len(names) or len(set(columns)) < len(names)):
        wanted = f"must be the {_column_names(names)}, such as --columns {' '.join(names)}"
        raise ConfigError(f"columns: {wanted}; not {' '.join(columns)}")


def _column_names(names: Sequence[str]) -> str:
    return f"name{'s' * (len(names) > 1)} of the {' and '.join(names)} column{'s' * (len(names) > 1)}"


def file_format(path: Path) -> str:
    """The suffix that names the format, without that of a compression; other files are plain text."""
    name = path.name.removesuffix(path.suffix) if compression_of(path) else path.name
    suffix = Path(name).suffix.lower()
    suffix = ALIASES.get(suffix, suffix)
    return suffix if suffix in FORMATS else ".txt"


def read_rows(path: Path, wanted: Fields, more: bool = False) -> Iterator[Row]:
    """Records with these fields. `more` allows further fields after the last, such as several references: further
    columns of a .tsv, or a list in a .jsonl, .parquet or .arrow."""
    if is_dataset(path):
        return (row for file in dataset_files(path) for row in _arrow(file, wanted, more))
    match file_format(path):
        case ".parquet" | ".arrow":
            return _arrow(path, wanted, more)
        case ".jsonl":
            return _jsonl(path, wanted, more)
        case ".csv":
            return _csv(path, wanted)
        case _:
            return _tsv(path, wanted, more)


def _tsv(path: Path, wanted: Fields, more: bool) -> Iterator[Row]:
    """Fields in the order of `wanted`, or by name if the first line is a header with these names."""
    header, places = list(wanted.names), list(range(len(wanted.names)))
    more = more and not wanted.required  # the user named exactly the columns to read
    for number, line in read_lines(path):
        fields = line.split("\t")
        if number == 1 and (wanted.required or set(wanted.names) <= {field.strip() for field in fields}):
            header = [field.strip() for field in fields]
            if missing := [name for name in wanted.names if name not in header]:
                raise UserError(f"{path}: its first line is not a header with {' and '.join(missing)}{wanted.hint}")
            places = _places(path, header, wanted)
        elif line.strip() or len(fields) > 1:  # blank lines are skipped
            if len(fields) != len(header) and not (more and len(fields) > len(header)):
                count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                expected = f"{len(header)}: {', '.join(header)}"
                raise UserError(f"{path}, line {number}: has {count} between tabs, and should have {expected}")
            rest = [place for place in range(len(fields)) if more and place not in places]
            yield Row(path, number, tuple(fields[place] for place in (*places, *rest)))


def _csv(path: Path, wanted: Fields) -> Iterator[Row]:
    lines = (line + "\n" for _, line in read_lines(path))
    first = next(lines, None)
    if first is None:
        return
    reader = csv.reader(chain([first], lines), delimiter=_delimiter(first, wanted.names), strict=True)
    start = 1  # the first line of the record being read
    try:
        header = next(reader, [])
        places = _places(path, [name.strip() for name in header], wanted)
        if not set(wanted.names) & {name.strip() for name in header}:
            used = f"{' and '.join(header)} for {' and '.join(wanted.names)}"
            _log_once(f"{path}: the first line is used as the header, {used}")
        start = reader.line_num + 1
        for fields in reader:
            if fields and len(fields) != len(header):
                raise UserError(f"{path}, line {start}: has {len(fields)} fields, the header {len(header)}")
            if fields:
                yield Row(path, start, tuple(fields[place] for place in places))
            start = reader.line_num + 1
    except csv.Error as error:
        raise not_csv(path, start, error, instead=".jsonl") from None


def not_csv(path: object, line: int, error: csv.Error, instead: str) -> UserError:
    """The error for the record that starts at this line; `instead` is a format for cells of any length."""
    where = f"{path}, line {line}"
    if "unexpected end" in str(error):
        return UserError(f"{where}: a quote is opened in this row and never closed")
    if "field larger" in str(error):
        cell = f"a cell of more than {csv.field_size_limit():,} characters"
        return UserError(f"{where}: {cell}; is a quote never closed? If the cell is right, save the file as {instead}")
    return UserError(f"{where}: is not CSV ({one_line(error)})")


@cache
def _log_once(line: str) -> None:
    """A note that is not repeated when the file is read again."""
    log.info(line)


def _delimiter(header: str, names: Sequence[str]) -> str:
    """Of a .csv: the mark that separates the wanted names in the header; else a comma, or whichever mark occurs."""
    matching = (mark for mark in ",;\t" if set(names) <= {name.strip().strip('"') for name in header.split(mark)})
    others = (mark for mark in ",;\t" if len(names) > 1 and mark in header)  # a single column may be prose
    return next(matching, next(others, ","))


def _jsonl(path: Path, wanted: Fields, more: bool) -> Iterator[Row]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}, line {number}: is not JSON ({str(error).splitlines()[0]})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}, line {number}: is not a JSON object; each line must be one")
        flat = _flat(record)
        for name in wanted.names:
            if name not in flat:
                raise UserError(f"{path}, line {number}: has no {name!r}; {did_you_mean(name, record)}{wanted.hint}")
        fields = _fields([flat[name] for name in wanted.names], more)
        try:
            "".join(fields).encode()
        except UnicodeEncodeError:  # JSON can escape one half of a surrogate pair, which no tokenizer can read
            raise UserError(f"{path}, line {number}: has an unpaired surrogate (half a character)") from None
        yield Row(path, number, fields)


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """The record, and what is in records inside it: as translation.de, and as de where no other value has that name."""
    inside = [(key, name, value) for key, one in record.items() if isinstance(one, dict) for name, value in one.items()]
    counts = Counter(name for _, name, _ in inside)
    own = {name: value for _, name, value in inside if counts[name] == 1}
    return own | {f"{key}.{name}": value for key, name, value in inside} | record


def _arrow(path: Path, wanted: Fields, more: bool) -> Iterator[Row]:
    columns = choose(path, columns_of(path), wanted.names, ordered=not wanted.required, hint=wanted.hint)
    for number, values in enumerate(read_columns(path, columns), 1):
        yield Row(path, number, _fields(values, more))


def _places(path: Path, header: Sequence[str], wanted: Fields) -> list[int]:
    """The indices of the wanted columns: by name, or by order if the counts are equal and no name matches."""
    missing = [name for name in wanted.names if name not in header]
    if not missing:
        return [header.index(name) for name in wanted.names]
    if len(missing) == len(header) == len(wanted.names) and not wanted.required:
        return list(range(len(header)))
    raise UserError(f"{path}: has no column {missing[0]!r}; {did_you_mean(missing[0], header)}{wanted.hint}")


def _fields(values: Sequence[Any], more: bool) -> tuple[str, ...]:
    """Values as text; with `more`, a list in the last place becomes several fields, an empty one an empty field."""
    *first, last = values
    several = (last or [None]) if more and isinstance(last, list) else [last]
    return tuple(map(_as_text, [*first, *several]))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
