"""Columns of Parquet and Arrow files, and of folders that `datasets.save_to_disk` wrote, read in batches of rows.

A column inside a struct has the names of both, as in translation.de, or its own where no other column has that. Numbers
that stand for classes are read as the names that Hugging Face's `datasets` stores beside them.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.core.errors import UserError, did_you_mean, one_line
from regard.core.files import read_json
from regard.data.decompress import compression_of, open_decompressed

ROWS = 4096  # of a batch; of one that holds images fewer
STATE, SPLITS = "state.json", "dataset_dict.json"  # of a folder of `datasets`
HUGGING_FACE = b"huggingface"  # where a schema keeps what `datasets` knows of its columns


@dataclass(frozen=True)
class Column:
    path: tuple[str, ...]  # its name, after those of the structs around it
    type: Any  # of pyarrow
    classes: tuple[str, ...] | None = None  # the names that its numbers stand for

    @property
    def name(self) -> str:
        return ".".join(self.path)


def is_dataset(folder: Path) -> bool:
    """Whether `datasets` saved this folder, as one split or several."""
    return folder.is_dir() and ((folder / STATE).is_file() or (folder / SPLITS).is_file())


def dataset_files(folder: Path) -> list[Path]:
    """The Arrow files of a folder that `datasets.save_to_disk` wrote, in order."""
    if (folder / SPLITS).is_file():
        splits = read_json(folder / SPLITS).get("splits")
        names = [str(name) for name in splits] if isinstance(splits, list) and splits else ["none"]
        raise UserError(f"{folder}: holds the splits {', '.join(names)}; give one of them, such as {folder / names[0]}")
    state = read_json(folder / STATE)
    listed = state.get("_data_files")
    files = [one.get("filename") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if not files or any(not isinstance(name, str) or Path(name).name != name for name in files):
        raise UserError(f"{folder / STATE}: must name the files of the data set (_data_files)")
    if state.get("_indices_data_files"):
        raise UserError(f"{folder}: was saved with a selection of rows; save flatten_indices() of it")
    return [folder / str(name) for name in files]


def columns_of(path: Path) -> list[Column]:
    """All columns of a file, those inside structs too."""
    with _opened(path) as (schema, _):
        return _columns(schema)


def choose(path: Path, known: Sequence[Column], names: Sequence[str], *, ordered: bool, hint: str) -> list[Column]:
    """The columns of these names. `ordered`: if no name occurs, and there are as many plain columns, they are taken in
    order."""
    chosen = [_named(known, name) for name in names]
    plain = [column for column in known if len(column.path) == 1]
    if ordered and not any(chosen) and len(plain) == len(known) == len(names):
        return plain
    for name, column in zip(names, chosen, strict=True):
        if column is None:
            near = did_you_mean(name, [column.name for column in known])
            raise UserError(f"{path}: has no column {name!r}; {near}{hint}")
    return [column for column in chosen if column is not None]


def _named(known: Sequence[Column], name: str) -> Column | None:
    """The column of that name; else the only one of that name inside structs."""
    exact = [column for column in known if column.name == name]
    inside = [column for column in known if column.path[-1] == name]
    return exact[0] if exact else inside[0] if len(inside) == 1 else None


def read_columns(path: Path, columns: Sequence[Column], rows: int = ROWS) -> Iterator[tuple[Any, ...]]:
    """The values of these columns, row by row; a class by its name, and an empty text for one that is missing."""
    import pyarrow.compute

    with _opened(path) as (_, batches):
        for batch in batches(sorted({column.path[0] for column in columns}), rows):
            values = []
            for column in columns:
                array = batch.column(column.path[0])
                for name in column.path[1:]:
                    array = pyarrow.compute.struct_field(array, name)
                values.append(_with_names(array.to_pylist(), column.classes))
            yield from zip(*values, strict=True)


def _with_names(values: list[Any], classes: tuple[str, ...] | None) -> list[Any]:
    if classes is None:
        return values
    return [classes[one] if isinstance(one, int) and 0 <= one < len(classes) else "" for one in values]


def _columns(schema: Any) -> list[Column]:
    features = _features(schema)
    return [column for field in schema for column in _leaves(field, (), features.get(field.name))]


def _leaves(field: Any, above: tuple[str, ...], feature: Any) -> Iterator[Column]:
    import pyarrow

    path = (*above, field.name)
    feature = feature if isinstance(feature, dict) else {}
    if pyarrow.types.is_struct(field.type):
        for number in range(field.type.num_fields):
            inner = field.type.field(number)
            yield from _leaves(inner, path, feature.get(inner.name))
        return
    names = feature.get("names") if feature.get("_type") == "ClassLabel" else None
    yield Column(path, field.type, tuple(map(str, names)) if isinstance(names, list) else None)


def _features(schema: Any) -> dict[str, Any]:
    """What `datasets` says of the columns; nothing where another program wrote the file."""
    try:
        features = json.loads((schema.metadata or {})[HUGGING_FACE])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    return features if isinstance(features, dict) else {}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """The schema of a file, and a function that gives batches of some of its columns."""
    import pyarrow
    import pyarrow.parquet

    kind = "Parquet" if ".parquet" in path.name else "Arrow"
    try:
        with open_decompressed(path) as data:
            if kind == "Parquet":
                file = pyarrow.parquet.ParquetFile(data)
                yield file.schema_arrow, lambda names, rows: file.iter_batches(batch_size=rows, columns=names)
                return
            source = data if compression_of(path) else pyarrow.memory_map(str(path))
            reader = _reader(source)
            yield reader.schema, lambda names, rows: _selected(reader, names, rows)
    except (OSError, pyarrow.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        raise UserError(f"{path}: cannot be read as {kind} ({one_line(error)})") from None


def _reader(source: Any) -> Any:
    """Streams, as `datasets` writes them, or files, as Feather does."""
    import pyarrow

    try:
        return pyarrow.ipc.open_stream(source)
    except pyarrow.ArrowInvalid:
        source.seek(0)
        return pyarrow.ipc.open_file(source)


def _selected(reader: Any, names: Sequence[str], rows: int) -> Iterator[Any]:
    numbers = range(reader.num_record_batches) if hasattr(reader, "num_record_batches") else None
    for batch in reader if numbers is None else map(reader.get_batch, numbers):
        for first in range(0, batch.num_rows, rows):
            yield batch.slice(first, rows).select(list(names))
