"""What the classifier and the regressor share: settings, fit, evidence, save."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from regard.core.errors import ConfigError, did_you_mean
from regard.models.in_context import InContextModel
from regard.tables.attribution import shapley_values
from regard.tables.drift import Drift, find_drift
from regard.tables.encode.columns import Columns, name_features
from regard.tables.encode.frames import as_frame
from regard.tables.encode.keys import split_keys
from regard.tables.encode.sample_weight import repeat_rows
from regard.tables.encode.table import EncodedTable, source_of
from regard.tables.encode.target import target_names
from regard.tables.encode.text_scores import score_targets
from regard.tables.estimators.known_rows import KnownRows
from regard.tables.estimators.mixed_columns import MixedColumns
from regard.tables.estimators.parameters import check_parameters
from regard.tables.explain import ROWS_PER_PASS, Evidence
from regard.tables.modes import auto, in_context
from regard.tables.network.pretrained import pretrained_model
from regard.tables.network.scratch import train_from_scratch
from regard.tables.predictor import Predictor
from regard.tables.progress import report
from regard.tables.threads import threads

Mode = Literal["auto", "attention", "in_context", "scratch"]


class TableEstimator(MixedColumns):
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
        source = source_of(self.rows_)
        self.tables_ = [
            EncodedTable(values, category, target[self.rows_], classes, source) for target, classes in targets
        ]
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
        known = KnownRows.of(table, targets, self.rows_, self.keys_, self.columns_)
        evidence = []
        with threads(self.n_jobs):
            by_column = shapley_values(predictor, values, self.columns_.positions(), table, self.seed_)
            by_row = (row for part in values.split(ROWS_PER_PASS) for row in predictor.row_weights(part))
            for place, (prediction, repeated) in enumerate(zip(predicted, by_row, strict=True)):
                own = known.find(values[place])
                weights = known.weights(repeated, own)
                base, effects = float(by_column.base[place]), by_column.effects[place]
                one = Evidence(
                    prediction=prediction,
                    rows=known.heaviest(weights, top),
                    columns=self._column_effects(effects, by_column.errors[place]),
                    base=base,
                    value=base + float(effects.sum()),
                    is_probability=table.classes > 0,
                    context=int((weights > 0).sum()),
                    attends_to_labels=predictor.attends_to_labels,
                    own_row=None if own is None else int(known.numbers[own]),
                    keys=(*self.keys_, *known.key_features),
                )
                evidence.append(one)
        return evidence

    def _column_effects(self, effects: Tensor, errors: Tensor) -> pd.DataFrame:
        """The effect of each column on a prediction, the largest first."""
        names = [column.name for column in self.columns_.columns]
        frame = pd.DataFrame({"effect": effects.numpy(), "error": errors.numpy()}, index=names)
        return frame.sort_values("effect", key=abs, ascending=False)

    def _check(self, unlabelled: Any) -> None:
        if self.mode not in get_args(Mode):
            raise ConfigError(f"mode: unknown mode {self.mode!r}; {did_you_mean(str(self.mode), get_args(Mode))}")
        check_parameters(self.members, self.time_limit)
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
        tags.target_tags.multi_output = True
        tags.non_deterministic = self.mode != "in_context"  # how far training gets depends on the machine
        return tags
