"""Key columns: what tells people which row it is. They stand first in the evidence, and no network reads them.

Ignored columns, such as identifiers and the groups of a split, are kept for that: evidence that names row 194 is of
little use to someone who knows the row as invoice R-2031.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from regard.core.errors import ConfigError
from regard.tables.encode.cells import as_label, is_missing
from regard.tables.encode.columns import nearest
from regard.tables.encode.frames import has_names
from regard.tables.encode.text import SHOWN

IGNORE = "ignore"  # the kind of a column that is no feature


def split_keys(
    frame: pd.DataFrame, kinds: Mapping[str, str] | None
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """The features, the columns of kind `ignore` as they are shown, and the kinds of the features."""
    names = ignored(kinds)
    for name in names:
        if not has_names(frame) or name not in frame:
            raise ConfigError(f"kinds: there is no column {name!r}; {nearest(name, list(map(str, frame)))}")
    if len(names) == frame.shape[1]:
        raise ConfigError("kinds: all columns are ignored, so there are no features")
    features = {name: kind for name, kind in (kinds or {}).items() if name not in names}
    return frame.drop(columns=names), as_keys(frame[names]), features


def ignored(kinds: Mapping[str, str] | None) -> list[str]:
    return [name for name, kind in (kinds or {}).items() if kind == IGNORE]


def as_keys(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as JSON stores them, long texts cut; None where missing."""
    cells = {name: [shown_cell(cell) for cell in frame[name]] for name in frame}
    return pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in cells.items()}, index=range(len(frame)))


def shown_cell(cell: Any) -> Any:
    if is_missing(cell):
        return None
    label = as_label(cell)
    return label[:SHOWN] if isinstance(label, str) else label


def keys_first(rows: pd.DataFrame, keys: pd.DataFrame, identifiers: Sequence[str]) -> pd.DataFrame:
    """The cells of some rows, those of the key columns first: ignored ones, then features that are identifiers."""
    others = [name for name in rows if name not in identifiers]
    return pd.concat([keys.set_axis(rows.index), rows[[*identifiers, *others]]], axis=1)
