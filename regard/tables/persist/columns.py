"""Loading the columns of a fitted table, and checking its cells against them."""

from collections import Counter
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
from regard.tables.persist.schema import Section, Tensors, shown

MAX_COLUMNS = 1_000_000
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
    )
    section.done()
    if bool(column.categories) != (kind == "category" and column.filled > 0):
        raise section.error("categories", f"must {'not ' if kind == 'category' else ''}be empty in a column of {kind}")
    if kind != "date" and (column.has_time or column.timezone):
        raise section.error("has_time", "and timezone are for dates")
    if column.timezone:
        try:
            pd.Timestamp("2024-01-01", tz=column.timezone)
        except Exception:  # whatever pandas, zoneinfo or the file system say
            raise section.error("timezone", f"{shown(column.timezone)} is unknown") from None
    return column


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
        elif column.kind == "date" and (known.abs() > MAX_DAYS).any():
            raise table.error("values", f"column {shown(column.name)} holds dates out of range")
    return values
