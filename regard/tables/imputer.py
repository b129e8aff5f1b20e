"""Fill the gaps of a table: each column in turn is the target, and the other columns say what is missing in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import torch
from jaxtyping import Bool, Float
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from regard.core.errors import ConfigError
from regard.tables.cells import EPOCH, label, read_codes
from regard.tables.column import Column
from regard.tables.columns import Columns, as_frame, name_features
from regard.tables.reader import Looks, Reader
from regard.tables.shipped import table_reader
from regard.tables.threads import threads
from regard.tables.views import Table

MOST_CATEGORIES = 100  # of a column to choose from: the commonest
MOST_READERS = 4  # that are kept: each holds what it has read of the whole table


class NPTImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fills the missing cells of every column from the other cells of their row, and from the rows of `fit`.

    A number becomes its mean, a category the likeliest one. What is there stays as it is, and so do types. A column
    that held nothing when it was learned stays empty.

    Parameters
    ----------
    views
        How often the table is looked at for each column, each time otherwise.
    weights
        Run folder of `regard pretrain tables` whose network to use in place of the shipped one.
    kinds
        Kinds of columns by name (number, category, date) where the inferred ones are wrong.
    """

    def __init__(
        self,
        *,
        views: int = 4,
        weights: str | Path | None = None,
        kinds: Mapping[str, str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.views = views
        self.weights = weights
        self.kinds = kinds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "NPTImputer":
        """Learn the columns and keep the rows; nothing is trained."""
        if self.views < 1:
            raise ConfigError(f"views: must be at least 1, not {self.views}")
        frame = as_frame(X)
        self.columns_ = Columns.learn(frame, self.kinds)
        self.n_features_in_ = frame.shape[1]
        name_features(self, self.columns_)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.values_ = torch.from_numpy(self.columns_.encode(frame).values)
        self.labels_ = [
            _labels(column, frame.iloc[:, place]) if column.kind == "category" else np.empty(0, dtype=object)
            for place, column in enumerate(self.columns_.columns)
        ]
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay his
            self.network_ = table_reader(self.weights)
        self._readers: dict[int, Reader] = {}
        return self

    def transform(self, X: Any) -> Any:
        """The table without gaps: a frame for a frame, an array for an array."""
        check_is_fitted(self)
        frame = as_frame(X)
        values = torch.from_numpy(self.columns_.encode(frame, type(self).__name__).values)
        given = X if isinstance(X, pd.DataFrame) else frame  # with the types that it had
        filled = given.copy()
        with threads(self.n_jobs):
            for place, column in enumerate(self.columns_.columns):
                where = frame.columns.get_loc(column.name) if self.columns_.named and column.name in frame else place
                gaps = frame.iloc[:, where].isna().to_numpy(copy=True)
                if gaps.any() and column.filled:
                    found = self._found(place, values[torch.from_numpy(gaps)])
                    filled.isetitem(where, _put(given.iloc[:, where], gaps, found, column))
        return _like(X, filled)

    def _found(self, place: int, values: Float[Tensor, "row cell"]) -> np.ndarray:
        """What belongs into this column for rows that have a gap there."""
        own = self.columns_.places()[place]
        others = [cell for cell in range(values.shape[1]) if cell not in own]
        known = self.values_[:, own[0]]
        known = known[~known.isnan()]
        is_category = self.columns_.columns[place].kind == "category"
        if not others or known.unique().numel() == 1:  # nothing to tell it from, or nothing to tell apart
            usual = known.mode().values if is_category else known.double().mean()
            answer = usual.expand(len(values)).double().numpy()
        else:
            told = self._reader(place).answer(values[:, others])
            answer = (self._common(place)[told.argmax(1)] if is_category else told[:, 0]).double().numpy()
        return self.labels_[place][answer.astype(int)] if is_category else answer

    def _reader(self, place: int) -> Reader:
        """The table with this column as its target: read when it is first needed, then kept for a while."""
        if place not in self._readers:
            own = self.columns_.places()[place]
            others = [cell for cell in range(self.values_.shape[1]) if cell not in own]
            kinds = [column.kind == "category" for column in self.columns_.columns for _ in range(column.width)]
            category, target = torch.tensor(kinds)[others], self.values_[:, own[0]].double()
            classes = 0
            if kinds[own[0]]:
                common = self._common(place)
                chosen = torch.isin(target, common.double())
                classes = len(common)
                target = torch.searchsorted(common, target.to(common.dtype)).float()
            else:
                chosen = ~target.isnan()
            table = Table(self.values_[chosen][:, others], category, target[chosen], classes)
            if len(self._readers) >= MOST_READERS:
                self._readers.pop(next(iter(self._readers)))  # the oldest
            self._readers[place] = Reader(self.network_, table, Looks(self.views), self.seed_)
        return self._readers[place]

    def _common(self, place: int) -> Tensor:
        """The codes of a column's commonest categories, rising."""
        codes = self.values_[:, self.columns_.places()[place][0]]
        found, counts = codes[~codes.isnan()].unique(return_counts=True)
        return found[counts.argsort(descending=True, stable=True)[:MOST_CATEGORIES]].sort().values

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, which `regard.load` takes. It holds the known rows."""
        from regard.tables.keep import save_imputer

        check_is_fitted(self)
        save_imputer(self, Path(path), overwrite=overwrite)

    def __getstate__(self) -> dict[str, Any]:
        """What was read can be read again, and would make a pickle many times as large."""
        state = super().__getstate__()
        return {**state, "_readers": {}} if "_readers" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _labels(column: Column, cells: pd.Series) -> np.ndarray:
    """The categories by their codes, as the table itself has them."""
    labels = np.array([*column.categories, None], dtype=object)[:-1]
    filled = cells.dropna()
    codes = read_codes(filled, column.categories).astype(int)
    for code, place in zip(*np.unique(codes, return_index=True), strict=True):
        labels[code] = filled.iloc[place]
    return labels


def _put(cells: pd.Series, gaps: Bool[np.ndarray, " row"], found: np.ndarray, column: Column) -> pd.Series:
    """A column with its gaps filled, of the type that it had."""
    kind = cells.dtype
    if column.kind == "date":
        whole = np.round(1440 * found) if column.clock else np.round(found)  # of parts pandas makes nanoseconds
        moments = pd.Series(EPOCH + pd.to_timedelta(whole, unit="min" if column.clock else "D"))
        new = _in_zone(moments, getattr(kind, "tz", None), column.zone)
        if not pd.api.types.is_datetime64_any_dtype(kind):  # dates as text, or as Python has them
            new = moments.dt.strftime("%Y-%m-%d %H:%M" if column.clock else "%Y-%m-%d")
    elif pd.api.types.is_timedelta64_dtype(kind):
        new = pd.Series(pd.to_timedelta(found, unit="D"))
    elif column.kind == "number" and pd.api.types.is_integer_dtype(kind):
        new = pd.Series(found.round())
    else:
        new = pd.Series(found)
    filled = cells.astype(object)
    filled[gaps] = new.to_numpy(dtype=object)
    if isinstance(kind, pd.CategoricalDtype):
        names = {label(category): category for category in kind.categories}
        filled[gaps] = [names.get(label(value), value) for value in new]
        kind = cells.cat.add_categories([value for value in dict.fromkeys(new) if label(value) not in names]).dtype
    try:
        return filled.astype(kind)
    except (TypeError, ValueError):  # a column that is empty here has no type worth keeping
        return filled.infer_objects()


def _in_zone(moments: pd.Series, zone: Any, learned: str) -> pd.Series:
    """What a clock of the zone that was learned shows, as moments of the column's own zone, where it has one."""
    if zone is None:
        return moments
    summer = np.ones(len(moments), dtype=bool)  # of an hour that comes twice the first; one that is left out has ended
    there = moments.dt.tz_localize(learned or zone, ambiguous=summer, nonexistent="shift_forward")
    return there.dt.tz_convert(zone)


def _like(given: Any, frame: pd.DataFrame) -> Any:
    """In the form in which the table was given."""
    if isinstance(given, pd.DataFrame | Mapping):
        return frame
    if hasattr(given, "__arrow_c_stream__"):  # polars, Arrow
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        return (table if isinstance(given, pyarrow.Table) else type(given)(table)).cast(given.schema)
    kind = getattr(given, "dtype", None)
    array = frame.to_numpy() if kind is None else frame.to_numpy(dtype=object)
    return array if kind is None else array.astype(kind)
