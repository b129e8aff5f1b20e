"""Loading a fitted table from its folder, which may be a stranger's: checked against its schema first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.models import InContext
from regard.store import COLUMNS, CONFIG, KEYS, TABLE, WEIGHTS, read_config
from regard.tables.encode.cells import LARGEST
from regard.tables.encode.columns import Columns, name_features
from regard.tables.encode.keys import IGNORE
from regard.tables.encode.table import EncodedTable, source_of
from regard.tables.estimators.base import Mode
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.imputer import NPTImputer
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.persist.additions import read_added, read_numbers
from regard.tables.persist.columns import check_cells, read_columns, read_encoders
from regard.tables.persist.keys import read_keys
from regard.tables.persist.load_distilled import DISTILLED, load_distilled
from regard.tables.persist.predictors import MAX_MEMBERS, MAX_SEED, Estimator, build_model, read_predictor
from regard.tables.persist.schema import Section, Tensors, load_tensors, shown
from regard.tables.persist.targets import read_target

ESTIMATORS = {"NPTClassifier": NPTClassifier, "NPTRegressor": NPTRegressor, "NPTImputer": NPTImputer}
MAX_TARGETS = 1000
MAX_CONFIG = 16_000_000  # bytes of config.yaml
ROW_LIMIT = 2**53


def load(path: Path) -> Estimator | NPTImputer:
    """A fitted estimator from its folder."""
    if (path / CONFIG).is_file() and (path / CONFIG).stat().st_size > MAX_CONFIG:
        raise UserError(f"{path / CONFIG}: is larger than {MAX_CONFIG:,} bytes")
    config = Section(path / CONFIG, read_config(path))
    kind = config.choice("estimator", [*ESTIMATORS, *DISTILLED])
    config.text("regard", 100)
    if kind in DISTILLED:
        return load_distilled(path, kind, config)
    for key in ("command", "table", "query", "split", "task", "cost"):
        config.optional_text(key, default=None)
    read_numbers(config, "scores")
    read_added(config)
    columns, labels = read_columns(path / COLUMNS, imputer=kind == "NPTImputer")
    table = Tensors(path / TABLE, load_tensors(path / TABLE))
    columns = read_encoders(table, columns)
    weights = load_tensors(path / WEIGHTS)
    if kind == "NPTImputer":
        imputer = NPTImputer(**_settings(config.section("settings"), columns))
        _load_imputer(imputer, config, columns, labels, table, weights)
        return imputer
    estimator = ESTIMATORS[kind](**_settings(config.section("settings"), columns, supervised=True))
    assert isinstance(estimator, Estimator)
    _load_estimator(estimator, config, columns, table, Tensors(path / WEIGHTS, weights))
    estimator.keys_ = read_keys(path / KEYS, estimator)
    return estimator


def _settings(section: Section, columns: Columns, supervised: bool = False) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "members": section.integer("members", 1, MAX_MEMBERS),
        "weights": section.optional_text("weights"),
        "random_state": section.integer("random_state", 0, MAX_SEED),
    }
    kinds = section.value("kinds")
    if kinds is not None:
        known = {column.name: column.kind for column in columns.columns}
        for name, kind in section.section("kinds").entries():
            if known.get(name, IGNORE) != kind:
                raise section.error("kinds", f"{shown(name)}: {shown(kind)} is not the kind of a column")
        settings["kinds"] = dict(kinds)
    if supervised:
        settings["mode"] = section.choice("mode", get_args(Mode))
        settings["time_limit"] = section.number("time_limit", 1e-9, 1e9)
        settings["transductive"] = section.boolean("transductive")
    section.done()
    return settings


def _load_imputer(
    imputer: NPTImputer,
    config: Section,
    columns: Columns,
    labels: list[np.ndarray],
    table: Tensors,
    weights: Mapping[str, Tensor],
) -> None:
    imputer.columns_, imputer.labels_ = columns, labels
    imputer.n_features_in_ = len(columns.columns)
    name_features(imputer, columns)
    imputer.seed_ = config.integer("seed", 0, MAX_SEED)
    imputer.values_ = check_cells(table, columns)
    for column, places in zip(columns.columns, columns.positions(), strict=True):
        if column.filled and imputer.values_[:, places[0]].isnan().all():
            raise table.error("values", f"column {shown(column.name)} is empty, but not in {COLUMNS}")
    imputer.model_ = build_model(InContext, config, "model", weights, table.file.parent / WEIGHTS)
    imputer._predictors = {}
    config.done()
    table.done()


def _load_estimator(estimator: Estimator, config: Section, columns: Columns, table: Tensors, weights: Tensors) -> None:
    estimator.columns_ = columns
    estimator.n_features_in_ = len(columns.columns)
    name_features(estimator, columns)
    estimator.seed_ = config.integer("seed", 0, MAX_SEED)
    values = check_cells(table, columns)
    category = table.read("category", torch.bool, (values.shape[1],))
    if category.tolist() != columns.is_category:
        raise table.error("category", f"does not match the kinds of {COLUMNS}")
    estimator.rows_ = table.integers("rows", (len(values),), ROW_LIMIT)
    source = source_of(estimator.rows_)
    classifies = isinstance(estimator, NPTClassifier)
    targets = [read_target(one, classifies) for one in config.sections("targets", 1, MAX_TARGETS)]
    estimator.multi_output_ = len(targets) > 1
    estimator.target_names_ = [name for name, _ in targets]
    estimator.tables_ = [
        EncodedTable(values, category, _read_codes(table, number, len(values), len(labels)), len(labels), source)
        for number, (_, labels) in enumerate(targets)
    ]
    if isinstance(estimator, NPTClassifier):
        classes = [labels for _, labels in targets]
        estimator.classes_ = classes if estimator.multi_output_ else classes[0]
    models = list(config.sections("model", len(targets), len(targets)))
    estimator.predictors_ = [
        read_predictor(number, section, estimator, table, weights) for number, section in enumerate(models)
    ]
    config.done()
    table.done()
    weights.done()


def _read_codes(table: Tensors, number: int, rows: int, classes: int) -> Tensor:
    """A target: codes of classes, or finite numbers."""
    name = f"target.{number}"
    if not classes:
        return table.numbers(name, torch.float64, (rows,), -LARGEST, LARGEST)
    codes = table.numbers(name, torch.float32, (rows,), 0, classes - 1)
    if (codes != codes.round()).any():
        raise table.error(name, "must hold the indices of classes")
    return codes
