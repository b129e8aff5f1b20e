"""The scikit-learn face of tables: fit, predict, and the rows that a prediction rested on."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from regard.core.errors import ConfigError, did_you_mean
from regard.models.in_context import InContextModel
from regard.tables.columns import Columns, as_frame, name_features
from regard.tables.evidence import AT_ONCE, Evidence, cell_weights, row_weights
from regard.tables.modes import Answers, auto, check_levels, in_context, quantiles_of
from regard.tables.own_network import own_network
from regard.tables.row_counts import repeat_rows
from regard.tables.shipped import table_reader
from regard.tables.target import Classes, numbers_of, target_columns, target_names
from regard.tables.threads import threads
from regard.tables.views import Table

Mode = Literal["auto", "in_context", "trained"]


class _NPT(BaseEstimator):
    """What classifiers and regressors share.

    Parameters
    ----------
    mode
        `in_context` reads the table with the shipped weights and trains nothing; `trained` trains a network of the
        table's own, as in the paper; `auto` goes on from the shipped weights within the time limit.
    time_limit
        Seconds that `fit` may take.
    views
        How often the table is looked at, each time otherwise; more is steadier and slower.
    weights
        Run folder of `regard pretrain tables` whose network to use in place of the shipped one.
    kinds
        Kinds of columns by name (number, category, date) where the inferred ones are wrong.
    transductive
        `trained` may learn from the cells of rows without a target too: `fit(X, y, unlabelled=…)`.
    """

    def __init__(
        self,
        *,
        mode: str = "auto",
        time_limit: float = 60.0,
        views: int = 8,
        weights: str | Path | None = None,
        kinds: Mapping[str, str] | None = None,
        transductive: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.mode = mode
        self.time_limit = time_limit
        self.views = views
        self.weights = weights
        self.kinds = kinds
        self.transductive = transductive
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any, targets: Sequence[tuple[Tensor, int]], sample_weight: Any, unlabelled: Any) -> None:
        """Learn the table once for each target: its numbers, and how many classes it has (0: they are numbers)."""
        self._check(unlabelled)
        frame = as_frame(X)
        if len(frame) != len(targets[0][0]):
            raise ConfigError(f"inconsistent numbers of samples: X has {len(frame)} rows and y {len(targets[0][0])}")
        self.columns_ = Columns.learn(frame, self.kinds)
        self.n_features_in_ = frame.shape[1]
        name_features(self, self.columns_)
        self.target_names_ = target_names(y, len(targets))
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.rows_ = repeat_rows(len(frame), sample_weight, self.seed_)
        cells = self.columns_.encode(frame)
        values, category = torch.from_numpy(cells.values)[self.rows_], torch.from_numpy(cells.category)
        self.tables_ = [Table(values, category, target[self.rows_], classes) for target, classes in targets]
        more = None if unlabelled is None else self._values(unlabelled)
        with threads(self.n_jobs), torch.random.fork_rng(devices=[]):  # the caller's random numbers stay his
            model = None if self.mode == "trained" else table_reader(self.weights)
            self.answers_ = [self._learn(model, table, self.time_limit / len(targets), more) for table in self.tables_]

    def _learn(self, model: InContextModel | None, table: Table, seconds: float, unlabelled: Tensor | None) -> Answers:
        if model is None:
            return own_network(table, self.seed_, seconds, unlabelled=unlabelled)
        if self.mode == "in_context":
            return in_context(model, table, self.views, self.seed_)
        return auto(model, table, self.views, self.seed_, seconds)

    def _answers(self, X: Any) -> list[Tensor]:
        check_is_fitted(self)
        values = self._values(X)
        with threads(self.n_jobs):
            return [learned.answer(values) for learned in self.answers_]

    def _values(self, X: Any) -> Tensor:
        return torch.from_numpy(self.columns_.encode(as_frame(X), type(self).__name__).values)

    def _evidence(self, X: Any, told: np.ndarray, known: Sequence[np.ndarray], top: int) -> Any:
        """What was told of each row, and the targets that are known, in the words of the table."""
        if top < 1:
            raise ConfigError(f"top: must be at least 1, not {top}")
        values = self._values(X)
        if not self.many_:
            return self._evidence_of(0, values, told, known[0], top)
        return [self._evidence_of(number, values, told[:, number], own, top) for number, own in enumerate(known)]

    def _evidence_of(
        self, number: int, values: Tensor, told: np.ndarray, targets: np.ndarray, top: int
    ) -> list[Evidence]:
        learned, table = self.answers_[number], self.tables_[number]
        numbers, first, own = np.unique(self.rows_.numpy(), return_index=True, return_inverse=True)
        known, same = table.values.numpy()[first], torch.from_numpy(own.reshape(-1))
        names = [column.name for column in self.columns_.columns]
        found = []
        with threads(self.n_jobs):
            cells = cell_weights(learned, values, self.columns_.places(), table.classes)
            weights = (row for part in values.split(AT_ONCE) for row in row_weights(learned, part))
            for prediction, each, moved in zip(told, weights, cells, strict=True):
                # A row that counts twice is one row; rows without a target are no evidence.
                row = torch.zeros(len(numbers)).index_add_(0, same, each[: len(same)])
                heaviest = row.argsort(descending=True)[:top].numpy()
                rows = self.columns_.decode(known[heaviest])
                rows.index = pd.Index(numbers[heaviest], name="row")
                rows.insert(0, "target", targets[first][heaviest], allow_duplicates=True)
                rows.insert(0, "weight", row.double().numpy()[heaviest], allow_duplicates=True)
                columns = pd.Series(moved.double().numpy(), index=names, name="weight").sort_values(ascending=False)
                found.append(Evidence(prediction, rows, columns, int((row > 0).sum()), self.mode != "trained"))
        return found

    def _check(self, unlabelled: Any) -> None:
        if self.mode not in get_args(Mode):
            known = did_you_mean(str(self.mode), get_args(Mode))
            raise ConfigError(f"mode: {self.mode!r} is not a way to predict; {known}")
        if not 0 < self.time_limit < math.inf:
            raise ConfigError(f"time_limit: must be more than 0 seconds, not {self.time_limit}")
        if self.views < 1:
            raise ConfigError(f"views: must be at least 1, not {self.views}")
        if (unlabelled is not None) != self.transductive:
            raise ConfigError("transductive=True and fit(…, unlabelled=…): one needs the other")
        if self.transductive and self.mode != "trained":
            raise ConfigError(f"transductive: only mode 'trained' learns from rows without a target, not {self.mode!r}")
        if self.weights is not None and self.mode == "trained":
            raise ConfigError("weights: mode 'trained' begins without any; choose auto or in_context")

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, which `regard.load` and the command line take. It holds the known rows."""
        from regard.tables.keep import save

        check_is_fitted(self)
        save(self, Path(path), overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.multi_output = True
        tags.non_deterministic = self.mode != "in_context"  # how far training comes in its time is up to the machine
        return tags


class NPTClassifier(ClassifierMixin, _NPT):
    """Which class each row of a table belongs to, from rows whose class is known."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> "NPTClassifier":
        columns = target_columns(y)
        found = [Classes.learn(column) for column in columns]
        for name, column in zip(target_names(y, len(columns)), columns, strict=True):
            try:
                check_classification_targets(column)
            except ValueError as error:
                raise ConfigError(f"y, {name!r}: {error}" if name else f"y: {error}") from None
        self.many_ = len(found) > 1
        self.classes_ = [classes.labels for classes, _ in found] if self.many_ else found[0][0].labels
        self._fit(X, y, [(codes, len(classes.labels)) for classes, codes in found], sample_weight, unlabelled)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, in the order of `classes_`; a list of such where there are several targets."""
        chances = [answer.double() for answer in self._answers(X)]
        shares = [(own / own.sum(1, keepdim=True)).numpy() for own in chances]
        return shares if self.many_ else shares[0]

    def predict(self, X: Any) -> np.ndarray:
        chances = self.predict_proba(X)
        if not self.many_:
            return np.asarray(self.classes_)[chances.argmax(1)]
        told = [labels[own.argmax(1)] for labels, own in zip(self.classes_, chances, strict=True)]
        alike = len({own.dtype.kind for own in told}) == 1  # else numbers would become texts
        return np.stack(told if alike else [own.astype(object) for own in told], axis=1)

    def evidence(self, X: Any, top: int = 5) -> Any:
        """For each row the known rows and the columns that its prediction rested on; where there are several targets, a
        list of such for each."""
        check_is_fitted(self)
        labels = self.classes_ if self.many_ else [self.classes_]
        coded = [table.target.long().numpy() for table in self.tables_]
        known = [np.asarray(own)[codes] for own, codes in zip(labels, coded, strict=True)]
        return self._evidence(X, self.predict(X), known, top)


class NPTRegressor(RegressorMixin, _NPT):
    """What number each row of a table has, from rows whose number is known."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> "NPTRegressor":
        columns = target_columns(y)
        self.many_ = len(columns) > 1
        self._fit(X, y, [(numbers_of(column), 0) for column in columns], sample_weight, unlabelled)
        return self

    def predict(self, X: Any, quantiles: Sequence[float] | np.ndarray | None = None) -> np.ndarray:
        """The mean of each row; or a column for each of these quantiles."""
        levels = [] if quantiles is None else [float(level) for level in quantiles]
        check_levels(levels)
        answers = self._answers(X)
        if quantiles is None:
            found = [answer[:, 0].double().numpy() for answer in answers]
        else:
            found = [quantiles_of(answer, levels).double().numpy() for answer in answers]
        return np.stack(found, axis=1) if self.many_ else found[0]

    def evidence(self, X: Any, top: int = 5) -> Any:
        """For each row the known rows and the columns that its prediction rested on; where there are several targets, a
        list of such for each."""
        check_is_fitted(self)
        return self._evidence(X, self.predict(X), [table.target.numpy() for table in self.tables_], top)
