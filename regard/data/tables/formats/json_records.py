"""JSON: an array of objects, or an object on each line (JSON Lines, also called NDJSON)."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import pandas as pd

from regard.core.errors import UserError, one_line
from regard.data.tables.cells import cells_as_stored, type_columns
from regard.data.tables.formats.base import FileFormat
from regard.data.tables.layout import decode, name_columns
from regard.data.tables.plain_values import plain_columns
from regard.data.tables.source import TableSource

log = logging.getLogger(__name__)


class JSONRecords(FileFormat):
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl", ".ndjson")
    written: ClassVar[tuple[str, ...]] = (".json", ".jsonl", ".ndjson")

    def read(self, source: TableSource) -> pd.DataFrame:
        return type_columns(source, _columns(source))

    def cells(self, source: TableSource, names: Sequence[str]) -> pd.DataFrame:
        columns = _columns(source)
        return cells_as_stored(source, {name: columns[name] for name in names})

    def write_to(self, frames: Iterable[pd.DataFrame], target: TableSource, file: Any) -> None:
        array = target.suffix == ".json"
        file.write(b"[" if array else b"")
        for number, record in enumerate(_records(frames)):
            before = ("\n" if number == 0 else ",\n") if array else ""
            file.write(f"{before}{json.dumps(record, ensure_ascii=False)}{'' if array else chr(10)}".encode())
        file.write(b"\n]\n" if array else b"")


def _records(frames: Iterable[pd.DataFrame]) -> Iterator[dict[str, Any]]:
    for frame in frames:
        names = list(map(str, frame.columns))
        for cells in zip(*plain_columns(frame, dates_as_text=True), strict=True):
            yield dict(zip(names, cells, strict=True))


def _columns(source: TableSource) -> dict[str, list[Any]]:
    """The values of every key, in the order in which keys first occur; a record without a key has none."""
    with source.open() as file:
        text = decode(source, file.read())
    records = list(_parse_array(source, text) if text.lstrip().startswith("[") else _parse_lines(source, text))
    if not records:
        raise UserError(f"{source}: has no rows")
    keys = dict.fromkeys(key for record in records for key in record)
    if not keys:
        raise UserError(f"{source}: has no columns")
    columns = {}
    for key, name in zip(keys, name_columns(source, list(keys)), strict=True):
        columns[name] = [record.get(key) for record in records]
        if any(isinstance(cell, (dict, list)) for cell in columns[name]):
            log.info(f"{source}: {name!r} holds lists or objects, and is read as their JSON text")
            columns[name] = [_flat(cell) for cell in columns[name]]
    return columns


def _flat(cell: Any) -> Any:
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, (dict, list)) else cell


def _parse_array(source: TableSource, text: str) -> Iterator[dict[str, Any]]:
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{source}: is not JSON ({one_line(error)})") from None
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise UserError(f"{source}: record {number} is no object; a table is an array of objects, one for each row")
        yield record


def _parse_lines(source: TableSource, text: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            hint = "; a table is an array of objects, or an object on each line" if number == 1 else ""
            raise UserError(f"{source}, line {number}: is not JSON ({one_line(error)}){hint}") from None
        if not isinstance(record, dict):
            raise UserError(f'{source}, line {number}: is no object; each line must be one, such as {{"area": 80}}')
        yield record
