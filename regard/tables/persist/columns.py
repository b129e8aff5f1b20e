"""Loading the columns of a fitted table, and checking its cells against them."""

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import cast, get_args

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from regard.core.files import read_json
from regard.tables.encode.cells import LARGEST
from regard.tables.encode.column import Column, ColumnKind
from regard.tables.encode.columns import Columns
from regard.tables.encode.ngrams import BUCKETS
from regard.tables.encode.text import SHOWN, TextEncoder, sort_texts
from regard.tables.persist.schema import Section, Tensors, shown

MAX_COLUMNS = 1_000_000
MAX_WEIGHT = 1e9  # of an n-gram in a score
MAX_NUMBERS = 1000  # that a text is encoded in
MAX_DAYS = 10_000_000  # of a date from 1970


def read_columns(path: Path, imputer: bool) -> tuple[Columns, list[np.ndarray]]:
    """The columns and, for an imputer, the labels of their categories."""
    section = Section(path, read_json(path))
    columns = parse_columns(section)
    labels = read_imputer_labels(section, columns) if imputer else []
    section.done()
    return columns, labels


def parse_columns(section: Section) -> Columns:
    named = section.boolean("named")
    columns = Columns(tuple(_read_column(one) for one in section.sections("columns", 1, MAX_COLUMNS)), named)
    names = [column.name for column in columns.columns]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise section.error("columns", f"two have the name {shown(twice)}")
    return columns


def read_imputer_labels(section: Section, columns: Columns) -> list[np.ndarray]:
    """The categories of each column as the table spells them; none for other kinds."""
    count = len(columns.columns)
    categories = []
    for number, (labels, column) in enumerate(zip(section.items("labels", count, count), columns.columns, strict=True)):
        each = Section(section.file, {"labels": labels}, f"labels[{number}]").items("labels")
        if len(each) != len(column.categories):
            raise section.error(f"labels[{number}]", f"must have {len(column.categories)} items, not {len(each)}")
        for label in each:
            if not isinstance(label, (str, bool, int, float)):
                raise section.error(f"labels[{number}]", f"must hold text, booleans or numbers, not {shown(label)}")
        categories.append(np.array([*each, None], dtype=object)[:-1])
    return categories


def _read_column(section: Section) -> Column:
    kind = section.choice("kind", get_args(ColumnKind))
    column = Column(
        name=section.text("name"),
        kind=cast(ColumnKind, kind),
        categories=tuple(section.labels("categories")),
        filled=section.number("filled", 0, 1),
        summary=section.text("summary"),
        has_time=section.boolean("has_time"),
        timezone=section.text("timezone", 100),
        repeats=section.boolean("repeats"),
        ranks=_read_ranks(section),
    )
    section.done()
    labelled = kind in ("category", "text")
    without_texts = kind == "text" and not column.categories  # of a distilled model
    if bool(column.categories) != (labelled and column.filled > 0) and not without_texts:
        raise section.error("categories", f"must {'not ' if labelled else ''}be empty in a column of {kind}")
    if kind == "text":
        _check_texts(section, column)
    elif column.repeats or column.ranks:
        raise section.error("repeats", "and ranks are for text")
    if kind != "date" and (column.has_time or column.timezone):
        raise section.error("has_time", "and timezone are for dates")
    if column.timezone:
        try:
            pd.Timestamp("2024-01-01", tz=column.timezone)
        except Exception:  # whatever pandas, zoneinfo or the file system say
            raise section.error("timezone", f"{shown(column.timezone)} is unknown") from None
    return column


def _read_ranks(section: Section) -> tuple[float, ...]:
    items = section.items("ranks", default=[])
    return tuple(section.as_number(f"ranks[{number}]", item, -1, 2**31) for number, item in enumerate(items))


def _check_texts(section: Section, column: Column) -> None:
    if column.ranks and len(column.ranks) != len(column.categories):
        raise section.error("ranks", f"must have {len(column.categories)} items, not {len(column.ranks)}")
    for number, text in enumerate(column.categories):
        if not isinstance(text, str) or len(text) > SHOWN:
            raise section.error(f"categories[{number}]", f"must be text of at most {SHOWN} characters")
    if sort_texts(column.categories) != column.categories:  # type: ignore[arg-type]
        raise section.error("categories", "must be distinct texts, the shortest first")


def encoder_tensors(columns: Columns) -> dict[str, Tensor]:
    """The encoders of text as tensors."""
    encoders = {place: one.encoder for place, one in enumerate(columns.columns) if one.encoder is not None}
    return {
        f"text.{place}.{one.name}": torch.from_numpy(getattr(encoder, one.name))
        for place, encoder in encoders.items()
        for one in fields(encoder)
    }


def read_encoders(table: Tensors, columns: Columns) -> Columns:
    """The columns with the encoders of text."""
    complete = list(columns.columns)
    for place, column in enumerate(complete):
        if column.kind == "text" and column.filled:
            complete[place] = replace(column, encoder=_read_encoder(table, f"text.{place}."))
    return replace(columns, columns=tuple(complete))


def _read_encoder(table: Tensors, prefix: str) -> TextEncoder:
    buckets = table.integers(f"{prefix}buckets", (None,), 2 * BUCKETS)
    if not (buckets.diff() > 0).all():
        raise table.error(f"{prefix}buckets", "must ascend")
    count = len(buckets)
    idf = table.numbers(f"{prefix}idf", torch.float32, (count,), 0, 1e3)
    projection = table.numbers(f"{prefix}projection", torch.float32, (count, None), -MAX_WEIGHT, MAX_WEIGHT)
    width = projection.shape[1]
    if width > MAX_NUMBERS:
        raise table.error(f"{prefix}projection", f"must have at most {MAX_NUMBERS} columns, not {width}")
    offset = table.numbers(f"{prefix}offset", torch.float32, (width,), -MAX_WEIGHT, MAX_WEIGHT)
    return TextEncoder(buckets.numpy(), idf.numpy(), projection.numpy(), offset.numpy())


def check_cells(table: Tensors, columns: Columns) -> Tensor:
    """The encoded training rows: as wide as the columns, with codes and dates in range."""
    values = table.numbers("values", torch.float32, (None, columns.width), -LARGEST, LARGEST, nan=True)
    for column, places in zip(columns.columns, columns.positions(), strict=True):
        cells = values[:, places]
        known = cells[~cells.isnan()]
        if column.kind == "category":
            wrong = (known < 0) | (known > len(column.categories)) | (known != known.round())
            if wrong.any():
                raise table.error("values", f"column {shown(column.name)} holds codes of no category")
        elif column.kind == "text":
            _check_positions(table, column, cells[:, 0])
        elif column.kind == "date" and (known.abs() > MAX_DAYS).any():
            raise table.error("values", f"column {shown(column.name)} holds dates out of range")
    return values


def _check_positions(table: Tensors, column: Column, positions: Tensor) -> None:
    """Training rows hold texts that are known."""
    known = positions[~positions.isnan()]
    if not torch.isin(known, torch.tensor(list(column.labels), dtype=known.dtype)).all():
        raise table.error("values", f"column {shown(column.name)} holds positions of no text")
