"""What the classifier and the regressor share: settings, fit, evidence, save."""

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from regard.core.errors import ConfigError, did_you_mean
from regard.models.in_context import InContextModel
from regard.tables.attribution import shapley_values
from regard.tables.data_checks import identifiers
from regard.tables.drift import Drift, find_drift
from regard.tables.encode.columns import Columns, name_features
from regard.tables.encode.frames import as_frame
from regard.tables.encode.keys import keys_first, split_keys
from regard.tables.encode.sample_weight import repeat_rows
from regard.tables.encode.table import EncodedTable
from regard.tables.encode.target import target_names
from regard.tables.encode.text_scores import score_targets
from regard.tables.explain import ROWS_PER_PASS, Evidence
from regard.tables.modes import auto, in_context
from regard.tables.network.pretrained import pretrained_model
from regard.tables.network.scratch import train_from_scratch
from regard.tables.predictor import Predictor
from regard.tables.progress import report
from regard.tables.threads import threads

Mode = Literal["auto", "attention", "in_context", "scratch"]
SAME = 1e-6  # relative difference of two numbers: a number that was shown and typed again has seven digits


class TableEstimator(BaseEstimator):
    """Base of the classifier and the regressor.

    Parameters
    ----------
    mode
        `in_context` uses the pre-trained network and trains nothing; `auto` also trains on this table within the time
        limit: learned keys, and fine-tuned copies of the network (up to 3,000 rows) or boosted trees (more);
        `attention` is `auto` without trees; `scratch` trains an NPT on this table alone, as in the paper.
    time_limit
        Seconds that `fit` may take.
    members
        Ensemble members; more are more accurate and slower.
    weights
        Run folder of `regard pretrain tables` to use instead of the shipped weights.
    kinds
        Kinds of columns by name (number, category, date, text) where inference is wrong; a column of kind `ignore`,
        such as an identifier, is no feature, and the evidence shows it first.
    transductive
        In mode `scratch`, learn from rows without a target too: `fit(X, y, unlabelled=…)`.
    """

    def __init__(
        self,
        *,
        mode: str = "auto",
        time_limit: float = 60.0,
        members: int = 8,
        weights: str | Path | None = None,
        kinds: Mapping[str, str] | None = None,
        transductive: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.mode = mode
        self.time_limit = time_limit
        self.members = members
        self.weights = weights
        self.kinds = kinds
        self.transductive = transductive
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any, targets: Sequence[tuple[Tensor, int]], sample_weight: Any, unlabelled: Any) -> None:
        """Fit one predictor for each target, given as its numbers and its number of classes (0: regression)."""
        self._check(unlabelled)
        frame, keys, kinds = split_keys(as_frame(X), self.kinds)
        if len(frame) != len(targets[0][0]):
            raise ConfigError(f"inconsistent numbers of samples: X has {len(frame)} rows and y {len(targets[0][0])}")
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.rows_ = repeat_rows(len(frame), sample_weight, self.seed_)
        self.keys_ = keys.iloc[self.rows_.numpy()].reset_index(drop=True)  # of each training row, to be shown
        report("encoding the columns")
        with threads(self.n_jobs):
            self.columns_, cells = Columns.fit_encode(frame, kinds, score_targets(targets, self.rows_))
        self.n_features_in_ = frame.shape[1]
        name_features(self, self.columns_)
        self.target_names_ = target_names(y, len(targets))
        values, category = torch.from_numpy(cells.values)[self.rows_], torch.from_numpy(cells.category)
        self.tables_ = [EncodedTable(values, category, target[self.rows_], classes) for target, classes in targets]
        more = None if unlabelled is None else self._encode(unlabelled)
        with threads(self.n_jobs), torch.random.fork_rng(devices=[]):  # leave the caller's random state alone
            model = None if self.mode == "scratch" else pretrained_model(self.weights)
            seconds = self.time_limit / len(targets)
            self.predictors_ = [self._fit_predictor(model, table, seconds, more) for table in self.tables_]

    def _fit_predictor(
        self, model: InContextModel | None, table: EncodedTable, seconds: float, unlabelled: Tensor | None
    ) -> Predictor:
        if model is None:
            report("training the network")
            return train_from_scratch(table, self.seed_, seconds, unlabelled=unlabelled)
        if self.mode == "in_context":
            return in_context(model, table, self.members, self.seed_)
        return auto(model, table, self.members, self.seed_, seconds, trees=self.mode == "auto")

    def class_counts(self, number: int) -> Tensor:
        """How many training rows each class of a target has; none for a number."""
        table = self.tables_[number]
        return torch.bincount(table.target.long(), minlength=table.classes) if table.classes else torch.empty(0)

    def _predictions(self, X: Any) -> list[Tensor]:
        """The output of the predictor of each target."""
        check_is_fitted(self)
        values = self._encode(X)
        with threads(self.n_jobs):
            return [predictor.predict(values) for predictor in self.predictors_]

    def _encode(self, X: Any) -> Tensor:
        return torch.from_numpy(self.columns_.encode(as_frame(X), type(self).__name__).values)

    def _evidence(self, X: Any, predicted: np.ndarray, targets: Sequence[np.ndarray], top: int) -> Any:
        """The evidence of each row, given its prediction and the targets of the training rows."""
        if top < 1:
            raise ConfigError(f"top: must be at least 1, not {top}")
        values = self._encode(X)
        if not self.multi_output_:
            return self._target_evidence(0, values, predicted, targets[0], top)
        return [
            self._target_evidence(number, values, predicted[:, number], one, top) for number, one in enumerate(targets)
        ]

    def _target_evidence(
        self, number: int, values: Tensor, predicted: np.ndarray, targets: np.ndarray, top: int
    ) -> list[Evidence]:
        predictor, table = self.predictors_[number], self.tables_[number]
        indices, first, inverse = np.unique(self.rows_.numpy(), return_index=True, return_inverse=True)
        known, same = table.values.numpy()[first], torch.from_numpy(inverse.reshape(-1))
        names = [column.name for column in self.columns_.columns]
        key_features = identifiers(self.columns_, known)
        places = self.columns_.identity_positions()
        evidence = []
        with threads(self.n_jobs):
            by_column = shapley_values(predictor, values, self.columns_.positions(), table, self.seed_)
            by_row = (row for part in values.split(ROWS_PER_PASS) for row in predictor.row_weights(part))
            for place, (prediction, each) in enumerate(zip(predicted, by_row, strict=True)):
                # A repeated row is one row; rows without a target are no evidence.
                weights = torch.zeros(len(indices)).index_add_(0, same, each[: len(same)])
                own = _own_row(known[:, places], values[place, places].numpy())
                if own is not None:
                    weights[own] = 0.0
                    weights /= weights.sum().clamp(min=1e-12)
                largest = weights.argsort(descending=True)[:top].numpy()
                rows = self.columns_.decode(known[largest])
                rows = keys_first(rows, self.keys_.iloc[first[largest]], key_features)
                rows.index = pd.Index(indices[largest], name="row")
                rows.insert(0, "target", targets[first][largest], allow_duplicates=True)
                rows.insert(0, "weight", weights.double().numpy()[largest], allow_duplicates=True)
                effects = pd.DataFrame(
                    {"effect": by_column.effects[place].numpy(), "error": by_column.errors[place].numpy()}, index=names
                ).sort_values("effect", key=abs, ascending=False)
                base = float(by_column.base[place])
                evidence.append(
                    Evidence(
                        prediction,
                        rows,
                        effects,
                        base,
                        base + float(by_column.effects[place].sum()),
                        table.classes > 0,
                        int((weights > 0).sum()),
                        predictor.attends_to_labels,
                        None if own is None else int(indices[own]),
                        (*self.keys_, *key_features),
                    )
                )
        return evidence

    def _check(self, unlabelled: Any) -> None:
        if self.mode not in get_args(Mode):
            raise ConfigError(f"mode: unknown mode {self.mode!r}; {did_you_mean(str(self.mode), get_args(Mode))}")
        if not 0 < self.time_limit < math.inf:
            raise ConfigError(f"time_limit: must be more than 0 seconds, not {self.time_limit}")
        if self.members < 1:
            raise ConfigError(f"members: must be at least 1, not {self.members}")
        if (unlabelled is not None) != self.transductive:
            raise ConfigError("transductive=True and fit(…, unlabelled=…): one needs the other")
        if self.transductive and self.mode != "scratch":
            raise ConfigError(f"transductive: only mode 'scratch' learns from rows without a target, not {self.mode!r}")
        if self.weights is not None and self.mode == "scratch":
            raise ConfigError("weights: mode 'scratch' does not use any; choose another mode")

    def add(self, X: Any, y: Any) -> "TableEstimator":
        """Add training rows without training: predictions attend to them from now on.

        `X` and `y` are as in `fit`, with the same columns and no new classes; new categories are fine. Rows count on
        from the last one. Trained networks and trees stay as they are. Returns the estimator.
        """
        from regard.tables.adding import add_rows, encode_addition

        check_is_fitted(self)
        with threads(self.n_jobs):
            add_rows(self, encode_addition(self, X, y))
        return self

    def drift(self, X: Any) -> Drift:
        """How unlike the training rows the rows of `X` are: whether a classifier can tell them apart, and by what."""
        check_is_fitted(self)
        with threads(self.n_jobs), torch.random.fork_rng(devices=[]):
            return find_drift(self, X)

    def report(self, X: Any = None, y: Any = None) -> Any:
        """A page about this model: scores beside baselines, calibration, mistakes, columns, deciding rows, warnings.

        `X` and `y` are rows that it has not seen; without them, training rows are held out and models of the same
        settings are fitted without them. The result has `.html`, `.save(path)`, and shows itself in a notebook.
        """
        check_is_fitted(self)
        # By name: a report fits estimators, so it imports them, and this module cannot import it.
        return import_module("regard.tables.report").report_model(self, X, y)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, for `regard.load` and the command line. It contains the training rows."""
        from regard.tables.persist.save import save

        check_is_fitted(self)
        save(self, Path(path), overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.multi_output = True
        tags.non_deterministic = self.mode != "in_context"  # how far training gets depends on the machine
        return tags


def _own_row(known: np.ndarray, cells: np.ndarray) -> int | None:
    """The training row that has exactly these cells, if there is one: the query row itself, which proves nothing."""
    equal = np.isclose(known, cells, rtol=SAME, atol=0, equal_nan=True).all(1).nonzero()[0]
    return int(equal[0]) if len(equal) == 1 else None
