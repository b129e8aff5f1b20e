"""A large table in chunks of rows, so that it need not fit in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import pandas as pd

ROWS = 16_384  # of a chunk
BYTES = 4 << 20  # of a chunk of a delimited file
LARGE = 32 << 20  # bytes: smaller files are read whole


@dataclass(frozen=True)
class Chunk:
    """Some rows, read when they are asked for."""

    frame: Callable[[], pd.DataFrame]
    cells: Callable[[Sequence[str]], pd.DataFrame]  # some columns as the file has them


def slices(frame: pd.DataFrame, cells: Callable[[Sequence[str]], pd.DataFrame]) -> Iterator[Chunk]:
    """The chunks of a table that was read as a whole; `cells` reads columns of it as the file has them."""
    cached = cache(cells)
    for start in range(0, len(frame), ROWS):
        rows = slice(start, start + ROWS)
        yield Chunk(partial(_rows, frame, rows), partial(_sliced_cells, cached, rows))


def frame_chunk(frame: pd.DataFrame) -> Chunk:
    """A chunk whose cells are as the file has them."""
    return Chunk(lambda: frame, lambda names: frame[list(names)])


def _sliced_cells(cells: Callable[[tuple[str, ...]], pd.DataFrame], rows: slice, names: Sequence[str]) -> pd.DataFrame:
    return _rows(cells(tuple(names)), rows)


def _rows(frame: pd.DataFrame, rows: slice) -> pd.DataFrame:
    return frame.iloc[rows].reset_index(drop=True)
