"""Which rows are learned from and which are asked for: decided by the table's name, the seed and the cap alone."""

import zlib

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from .files import CLASSIFICATION, Array, Table

SHARE = 0.7  # of a table is learned from, or less where a cap says so
MAX_ASKED = 5_000  # rows are asked for: more would cost time and change nothing
FOLDS = 10


def split(table: Table, seed: int, rows: int | None) -> tuple[Array, Array]:
    """The rows to learn from, at most `rows` of them, and the rows to ask for: the rest, within bounds."""
    order = _order(table, seed, rows)
    count = max(1, int(SHARE * len(table)))
    count = count if rows is None else min(count, rows)
    return order[:count], order[count : count + MAX_ASKED]


def _order(table: Table, seed: int, rows: int | None) -> Array:
    """The rows in an order of which every stretch holds the classes in the same shares, and the start holds them all.

    RandomState is the one stream that numpy promises to keep as it is.
    """
    random = np.random.RandomState([zlib.crc32(table.name.encode()), seed, rows or 0])
    order = random.permutation(len(table))
    if table.task != CLASSIFICATION:
        return order
    labels = table.target[order]
    place = np.empty(len(order))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        place[members] = (np.arange(len(members)) + random.random_sample()) / len(members)
        place[members[0]] = -1.0
    return order[np.argsort(place, kind="stable")]


def folds(table: Table) -> list[tuple[Array, Array]]:
    """Ten folds, the same ones for everybody."""
    kind = StratifiedKFold if table.task == CLASSIFICATION else KFold
    return list(kind(FOLDS, shuffle=True, random_state=0).split(table.features, table.target))
