"""NPTImputer: fills missing cells; each column in turn is the target, predicted from the others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import torch
from jaxtyping import Bool, Float
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from regard.tables.encode.cells import EPOCH, as_label
from regard.tables.encode.column import Column
from regard.tables.encode.columns import Columns, name_features
from regard.tables.encode.frames import as_frame
from regard.tables.encode.table import EncodedTable
from regard.tables.estimators.mixed_columns import MixedColumns
from regard.tables.estimators.parameters import check_parameters
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.pretrained import pretrained_model
from regard.tables.threads import threads

MAX_CATEGORIES = 100  # of a column, the most frequent ones, that can be imputed
DATE_RANGE = [(pd.Timestamp(day) - EPOCH).days for day in ("0001-01-01", "9999-12-31")]  # as in datetime.datetime
LABELLED = ("category", "text")  # kinds whose cells are imputed by the most probable of those that were seen
MAX_PREDICTORS = 4  # that are cached: each holds the encoded table


class NPTImputer(OneToOneFeatureMixin, TransformerMixin, MixedColumns):
    """Fills the missing cells of every column from the other cells of the row and from the rows of `fit`.

    A number is imputed by its mean, a category or a text by the most probable one. Other cells and all types are
    unchanged. A column that was empty in `fit` stays empty.

    Parameters
    ----------
    members
        Ensemble members for each column; more are more accurate and slower.
    weights
        Run folder of `regard pretrain tables` to use instead of the shipped weights.
    kinds
        Kinds of columns by name (number, category, date, text) where inference is wrong.
    """

    def __init__(
        self,
        *,
        members: int = 4,
        weights: str | Path | None = None,
        kinds: Mapping[str, str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.members = members
        self.weights = weights
        self.kinds = kinds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "NPTImputer":
        """Fit the columns and keep the rows; nothing is trained."""
        check_parameters(self.members)
        frame = as_frame(X)
        self.columns_, cells = Columns.fit_encode(frame, self.kinds, None)
        self.n_features_in_ = frame.shape[1]
        name_features(self, self.columns_)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.values_ = torch.from_numpy(cells.values)
        self.labels_ = [
            _labels(column, frame.iloc[:, place]) if column.kind in LABELLED else np.empty(0, dtype=object)
            for place, column in enumerate(self.columns_.columns)
        ]
        with torch.random.fork_rng(devices=[]):  # leave the caller's random state alone
            self.model_ = pretrained_model(self.weights)
        self._predictors: dict[int, InContextPredictor] = {}
        return self

    def transform(self, X: Any) -> Any:
        """The table with missing cells filled: a frame for a frame, an array for an array."""
        check_is_fitted(self)
        frame = as_frame(X)
        values = torch.from_numpy(self.columns_.encode(frame, type(self).__name__).values)
        original = X if isinstance(X, pd.DataFrame) else frame  # with its types
        filled = original.copy()
        with threads(self.n_jobs):
            for place, column in enumerate(self.columns_.columns):
                where = frame.columns.get_loc(column.name) if self.columns_.named and column.name in frame else place
                missing = frame.iloc[:, where].isna().to_numpy(copy=True)
                if missing.any() and column.filled:
                    imputed = self._impute(place, values[torch.from_numpy(missing)])
                    filled.isetitem(where, _fill(original.iloc[:, where], missing, imputed, column))
        return _like(X, filled)

    def _impute(self, place: int, values: Float[Tensor, "row cell"]) -> np.ndarray:
        """The cells of this column for rows where it is missing."""
        target = self.columns_.positions()[place]
        others = [cell for cell in range(values.shape[1]) if cell not in target]
        known = self.values_[:, target[0]]
        known = known[~known.isnan()]
        is_category = self.columns_.columns[place].kind in LABELLED
        if not others or known.unique().numel() == 1:  # no features, or a constant
            constant = known.mode().values if is_category else known.double().mean()
            imputed = constant.expand(len(values)).double().numpy()
        else:
            output = self._predictor(place).predict(values[:, others])
            imputed = (self._frequent(place)[output.argmax(1)] if is_category else output[:, 0]).double().numpy()
        return self.labels_[place][imputed.astype(int)] if is_category else imputed

    def _predictor(self, place: int) -> InContextPredictor:
        """A predictor with this column as its target, cached."""
        if place not in self._predictors:
            column = self.columns_.positions()[place]
            others = [cell for cell in range(self.values_.shape[1]) if cell not in column]
            category = torch.tensor(self.columns_.is_category)[others]
            target = self.values_[:, column[0]].double()
            classes = 0
            if self.columns_.columns[place].kind in LABELLED:
                frequent = self._frequent(place)
                known = torch.isin(target, frequent.double())
                classes = len(frequent)
                target = torch.searchsorted(frequent, target.to(frequent.dtype)).float()
            else:
                known = ~target.isnan()
            table = EncodedTable(self.values_[known][:, others], category, target[known], classes)
            if len(self._predictors) >= MAX_PREDICTORS:
                self._predictors.pop(next(iter(self._predictors)))  # the oldest
            self._predictors[place] = InContextPredictor(self.model_, table, Members(self.members), self.seed_)
        return self._predictors[place]

    def _frequent(self, place: int) -> Tensor:
        """The codes of a column's most frequent categories, ascending."""
        codes = self.values_[:, self.columns_.positions()[place][0]]
        distinct, counts = codes[~codes.isnan()].unique(return_counts=True)
        return distinct[counts.argsort(descending=True, stable=True)[:MAX_CATEGORIES]].sort().values

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, for `regard.load`. It contains the training rows."""
        from regard.tables.persist.save import save_imputer

        check_is_fitted(self)
        save_imputer(self, Path(path), overwrite=overwrite)

    def __getstate__(self) -> dict[str, Any]:
        """Encoded contexts can be computed again, and would make a pickle many times as large."""
        state = super().__getstate__()
        return {**state, "_predictors": {}} if "_predictors" in state else state


def _labels(column: Column, cells: pd.Series) -> np.ndarray:
    """The categories by code, as the table itself spells them."""
    labels = np.array([*column.categories, None], dtype=object)[:-1]
    filled = cells.dropna()
    codes = column.encode(filled)[column.name].astype(int)
    for code, place in zip(*np.unique(codes, return_index=True), strict=True):
        labels[code] = filled.iloc[place]
    return labels


def _fill(cells: pd.Series, missing: Bool[np.ndarray, " row"], imputed: np.ndarray, column: Column) -> pd.Series:
    """A column with its missing cells filled, of the same dtype."""
    dtype = cells.dtype
    if column.kind == "date":
        imputed = imputed.clip(*DATE_RANGE)
        rounded = np.round(1440 * imputed) if column.has_time else np.round(imputed)  # fractions become nanoseconds
        datetimes = pd.Series(EPOCH + pd.to_timedelta(rounded, unit="min" if column.has_time else "D"))
        new = _localise(datetimes, getattr(dtype, "tz", None), column.timezone)
        if not pd.api.types.is_datetime64_any_dtype(dtype):  # dates as text or as Python objects
            new = datetimes.dt.strftime("%Y-%m-%d %H:%M" if column.has_time else "%Y-%m-%d")
    elif pd.api.types.is_timedelta64_dtype(dtype):
        new = pd.Series(pd.to_timedelta(imputed, unit="D"))
    elif column.kind == "number" and pd.api.types.is_integer_dtype(dtype):
        new = pd.Series(imputed.round())
    else:
        new = pd.Series(imputed)
    filled = cells.astype(object)
    filled[missing] = new.to_numpy(dtype=object)
    if isinstance(dtype, pd.CategoricalDtype):
        names = {as_label(category): category for category in dtype.categories}
        filled[missing] = [names.get(as_label(value), value) for value in new]
        unseen = [value for value in dict.fromkeys(new) if as_label(value) not in names]
        dtype = cells.cat.add_categories(unseen).dtype
    try:
        return filled.astype(dtype)
    except (TypeError, ValueError):  # a column that is empty here has no meaningful dtype
        return filled.infer_objects()


def _localise(datetimes: pd.Series, timezone: Any, fitted: str) -> pd.Series:
    """Naive datetimes of the fitted timezone in the column's own one, if it has one."""
    if timezone is None:
        return datetimes
    first = np.ones(len(datetimes), dtype=bool)  # of an hour that occurs twice; a skipped one is shifted forward
    local = datetimes.dt.tz_localize(fitted or timezone, ambiguous=first, nonexistent="shift_forward")
    return local.dt.tz_convert(timezone)


def _like(original: Any, frame: pd.DataFrame) -> Any:
    """The frame as the type in which the table was passed."""
    if isinstance(original, pd.DataFrame | Mapping):
        return frame
    if hasattr(original, "__arrow_c_stream__"):  # polars, Arrow
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        return (table if isinstance(original, pyarrow.Table) else type(original)(table)).cast(original.schema)
    dtype = getattr(original, "dtype", None)
    array = frame.to_numpy() if dtype is None else frame.to_numpy(dtype=object)
    return array if dtype is None else array.astype(dtype)
