"""Files as people have them: .txt, .tsv, .csv, .jsonl and .parquet, plain or packed with .gz, .xz or .zst.

Everything is read as a stream, and whatever cannot be read is named by file and line.
"""

import codecs
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from regard.core.errors import ConfigError, UserError, did_you_mean
from regard.data.decompress import opened, packing_of

KINDS = (".txt", ".tsv", ".csv", ".jsonl", ".parquet")
ALSO = {
    ".json": ".jsonl",
    ".ndjson": ".jsonl",
}  # a whole document of JSON is found out by its first line
TEXT = ("text",)  # the field of a document
CHUNK = 1 << 18  # bytes read at a time


@dataclass(frozen=True)
class Row:
    """One record, and where it stood."""

    file: Path
    line: int
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True)
class Fields:
    """The wanted fields of a record, by name."""

    names: tuple[str, ...]
    said: bool = False  # by the user: then a header must have them
    hint: str = ""  # what to do where a file has none of the name

    @staticmethod
    def called(names: tuple[str, ...], columns: Sequence[str]) -> "Fields":
        """Those that the user calls `columns`; or by their usual names, where nothing was said."""
        return Fields(tuple(columns) or names, bool(columns), f"; --columns says {_what_is_called(names)}")


def check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuse what cannot be the user's words for these fields."""
    if columns and (len(columns) != len(names) or len(set(columns)) < len(names)):
        wanted = f"{_what_is_called(names)}, such as --columns {' '.join(names)}"
        raise ConfigError(f"columns: must say {wanted}; not {' '.join(columns)}")


def _what_is_called(names: Sequence[str]) -> str:
    return f"what the {' and the '.join(names)} {'is' if len(names) == 1 else 'are'} called"


def kind_of(path: Path) -> str:
    """The suffix that says how a file is laid out; a file without one is plain text."""
    name = path.name.removesuffix(path.suffix) if packing_of(path) else path.name
    suffix = Path(name).suffix.lower()
    suffix = ALSO.get(suffix, suffix)
    return suffix if suffix in KINDS else ".txt"


def read_rows(path: Path, wanted: Fields, more: bool = False) -> Iterator[Row]:
    """Records with these fields. `more` allows further fields after the last, such as several references: further
    columns of a .tsv, or a list in a .jsonl or .parquet."""
    kind = kind_of(path)
    if kind == ".parquet":
        return _parquet(path, wanted, more)
    if kind == ".jsonl":
        return _jsonl(path, wanted, more)
    if kind == ".csv":
        return _csv(path, wanted)
    return _tabbed(path, wanted, more)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; a byte-order mark is not part of the first."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(f"{path}, line {number}: is not UTF-8 ({error.reason})") from None
            yield number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n")


def read_text(path: Path, columns: Sequence[str] = ()) -> Iterator[str]:
    """Running text in pieces: the file itself, or one document after the other where it holds records."""
    if kind_of(path) == ".txt":
        yield from _running(path)
    else:
        for row in read_rows(path, Fields.called(TEXT, columns)):
            yield row.fields[0]


def holds_documents(path: Path) -> bool:
    """Whether pieces of `read_text` are whole documents, which must not run into each other."""
    return kind_of(path) != ".txt"


def _running(path: Path) -> Iterator[str]:
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with opened(path) as file:
        start = True
        while True:
            data = file.read(CHUNK)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                raise UserError(f"{path}, line {line}: is not UTF-8 ({error.reason})") from None
            line += text.count("\n")
            if text:
                yield text.removeprefix("\ufeff") if start else text
                start = False
            if not data:
                return


def _tabbed(path: Path, wanted: Fields, more: bool) -> Iterator[Row]:
    """Fields in their order; or, where the first line is a header with their names, wherever they stand."""
    header, places = list(wanted.names), list(range(len(wanted.names)))
    more = more and not wanted.said  # who names columns means these
    for number, line in read_lines(path):
        fields = line.split("\t")
        if number == 1 and (wanted.said or set(wanted.names) <= {field.strip() for field in fields}):
            header = [field.strip() for field in fields]
            if missing := [name for name in wanted.names if name not in header]:
                raise UserError(f"{path}: its first line is no header with {' and '.join(missing)}{wanted.hint}")
            places = _places(path, header, wanted)
        elif line.strip() or len(fields) > 1:  # a blank line is no row
            if len(fields) != len(header) and not (more and len(fields) > len(header)):
                found = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                should = f"{len(header)}: {', '.join(header)}"
                raise UserError(f"{path}, line {number}: has {found} between tabs, and should have {should}")
            rest = [place for place in range(len(fields)) if more and place not in places]
            yield Row(path, number, tuple(fields[place] for place in (*places, *rest)))


def _csv(path: Path, wanted: Fields) -> Iterator[Row]:
    lines = (line + "\n" for _, line in read_lines(path))
    first = next(lines, None)
    if first is None:
        return
    reader = csv.reader(chain([first], lines), delimiter=_delimiter(first, wanted.names), strict=True)
    begun = 1  # where the record stands that is being read
    try:
        header = next(reader, [])
        places = _places(path, [name.strip() for name in header], wanted)
        if not set(wanted.names) & {name.strip() for name in header}:
            taken = f"{' and '.join(header)} for {' and '.join(wanted.names)}"
            _tell_once(f"{path}: its first line is taken for the header, {taken}")
        begun = reader.line_num + 1
        for fields in reader:
            if fields and len(fields) != len(header):
                raise UserError(f"{path}, line {begun}: has {len(fields)} fields, the header {len(header)}")
            if fields:
                yield Row(path, begun, tuple(fields[place] for place in places))
            begun = reader.line_num + 1
    except csv.Error as error:
        raise not_csv(path, begun, error, instead=".jsonl") from None


def not_csv(path: Path, line: int, error: csv.Error, instead: str) -> UserError:
    """What is wrong with the record that begins at this line; `instead` is a kind of file for cells of any length."""
    where = f"{path}, line {line}"
    if "unexpected end" in str(error):
        return UserError(f"{where}: a quote opens in this row and is never closed")
    if "field larger" in str(error):
        cell = f"a cell of more than {csv.field_size_limit():,} characters"
        return UserError(f"{where}: {cell}; is a quote never closed? If it is meant, save such texts as {instead}")
    return UserError(f"{where}: is not CSV ({error})")


@cache
def _tell_once(line: str) -> None:
    """A note on screen, however often the file is read."""
    print(line, file=sys.stderr)


def _delimiter(header: str, names: Sequence[str]) -> str:
    """Of a .csv: what stands between the wanted names, as spreadsheets write them; else a comma, or what there is."""
    found = (mark for mark in ",;\t" if set(names) <= {name.strip().strip('"') for name in header.split(mark)})
    others = (mark for mark in ",;\t" if len(names) > 1 and mark in header)  # a single column may be prose
    return next(found, next(others, ","))


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
        for name in wanted.names:
            if name not in record:
                raise UserError(f"{path}, line {number}: has no {name!r}; {did_you_mean(name, record)}{wanted.hint}")
        fields = _fields([record[name] for name in wanted.names], more)
        try:
            "".join(fields).encode()
        except UnicodeEncodeError:  # JSON can name half of a pair of codes by itself, and no tokenizer can read it
            raise UserError(f"{path}, line {number}: holds half a character (a lone surrogate)") from None
        yield Row(path, number, fields)


def _parquet(path: Path, wanted: Fields, more: bool) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet

    try:
        with opened(path) as data:
            file = pyarrow.parquet.ParquetFile(data)
            columns = [file.schema_arrow.names[place] for place in _places(path, file.schema_arrow.names, wanted)]
            number = 0
            for batch in file.iter_batches(batch_size=4096, columns=columns):
                for values in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
                    number += 1
                    yield Row(path, number, _fields(values, more))
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from None


def _places(path: Path, header: Sequence[str], wanted: Fields) -> list[int]:
    """Where the wanted fields stand: by name, or by order where there are just as many columns."""
    missing = [name for name in wanted.names if name not in header]
    if not missing:
        return [header.index(name) for name in wanted.names]
    if len(missing) == len(header) == len(wanted.names) and not wanted.said:
        return list(range(len(header)))
    raise UserError(f"{path}: has no column {missing[0]!r}; {did_you_mean(missing[0], header)}{wanted.hint}")


def _fields(values: Sequence[Any], more: bool) -> tuple[str, ...]:
    """Values as text; with `more` a list in the last place is several fields, and an empty one an empty field."""
    *first, last = values
    several = (last or [None]) if more and isinstance(last, list) else [last]
    return tuple(map(_as_text, [*first, *several]))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
