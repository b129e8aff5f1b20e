"""Saving a fitted table."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from torch import Tensor

from regard.core import tensors
from regard.core.config import to_dict
from regard.core.files import write_text
from regard.core.version import VERSION
from regard.store import COLUMNS, KEYS, TABLE, RunFolder
from regard.tables.encode.cells import Label, as_label
from regard.tables.ensemble import Ensemble
from regard.tables.network.boosted_trees import BoostedTreesPredictor, tensors_of
from regard.tables.network.in_context import InContextPredictor
from regard.tables.network.learned_keys import LearnedKeysPredictor
from regard.tables.network.scratch import NPTPredictor
from regard.tables.persist.columns import encoder_tensors

Estimator = Any  # fitted: it calls this module, which therefore does not import its class
SCRATCH = ("cells", "mean", "std")  # tensors of a standardised table
NOT_SAVED = ("n_jobs",)  # depends on the machine


def save(estimator: Estimator, path: Path, *, overwrite: bool = False, extra: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator; `extra` is stored beside its settings: `table`, `scores`, `split`, `command`."""
    weights: dict[str, Tensor] = {}
    first = estimator.tables_[0]
    table = {"values": first.values, "category": first.category, "rows": estimator.rows_}
    table.update(encoder_tensors(estimator.columns_))
    table.update({f"target.{number}": one.target for number, one in enumerate(estimator.tables_)})
    model = [_describe(number, one, weights, table) for number, one in enumerate(estimator.predictors_)]
    with RunFolder(path).open(overwrite=overwrite) as folder:
        folder.write_weights(weights)
        tensors.save(path / TABLE, table)
        write_text(path / COLUMNS, json.dumps(estimator.columns_.to_dict(), indent=1, ensure_ascii=False))
        if len(estimator.keys_.columns):
            write_text(path / KEYS, json.dumps(_keys(estimator), ensure_ascii=False))
        folder.write_config({
            "regard": VERSION,
            **(extra or {}),
            "estimator": type(estimator).__name__,
            "settings": _settings(estimator),
            "seed": estimator.seed_,
            "targets": describe_targets(estimator),
            "model": model,
        })  # fmt: skip


def save_imputer(imputer: Estimator, path: Path, *, overwrite: bool = False) -> None:
    labels = [[as_label(one) for one in each] for each in imputer.labels_]
    columns = {**imputer.columns_.to_dict(), "labels": labels}
    with RunFolder(path).open(overwrite=overwrite) as folder:
        folder.write_weights(_compact(imputer.model_.state_dict()))
        tensors.save(path / TABLE, {"values": imputer.values_, **encoder_tensors(imputer.columns_)})
        write_text(path / COLUMNS, json.dumps(columns, indent=1, ensure_ascii=False))
        folder.write_config({
            "regard": VERSION,
            "estimator": type(imputer).__name__,
            "settings": _settings(imputer),
            "seed": imputer.seed_,
            "model": to_dict(imputer.model_.config),
        })  # fmt: skip


def _describe(number: int, predictor: Any, weights: dict[str, Tensor], table: dict[str, Tensor]) -> dict[str, Any]:
    """The predictor of a target for `config.yaml`; its tensors are added to `weights` and `table`."""
    if isinstance(predictor, NPTPredictor):
        tensors = {name: getattr(predictor.table, name) for name in SCRATCH}
        tensors |= {"residuals": predictor.residuals, "context_rows": predictor.context_rows}
        table.update({f"scratch.{number}.{name}": value for name, value in tensors.items()})
        weights.update(_named_weights(f"{number}.0", predictor))
        return {"predictor": "scratch", "config": to_dict(predictor.model.config)}
    assert isinstance(predictor, Ensemble), f"cannot save a {type(predictor).__name__}"
    parts = []
    for place, (one, weight) in enumerate(zip(predictor.predictors, predictor.weights, strict=True)):
        prefix = f"{number}.{place}"
        if isinstance(one, BoostedTreesPredictor):
            own = {**tensors_of(one.trees), "levels": one.levels.means, "first": one.levels.first}
            weights.update({f"{prefix}.{name}": value.clone() for name, value in own.items()})
            weights[f"{prefix}.residuals"] = one.residuals.clone()
            parts.append({"kind": "trees", "weight": weight})
            continue
        assert isinstance(one, InContextPredictor | LearnedKeysPredictor), f"cannot save a {type(one).__name__}"
        weights.update(_named_weights(prefix, one))
        network = {"weight": weight, "config": to_dict(one.model.config)}
        if isinstance(one, InContextPredictor):
            parts.append({"kind": "in_context", **network, "members": asdict(one.settings)})
        else:
            parts.append({"kind": "learned_keys", **network})
    calibration = predictor.calibration
    levels = None if calibration.levels is None else calibration.levels.tolist()
    return {"predictor": "ensemble", "calibration": {**asdict(calibration), "levels": levels}, "parts": parts}


def _named_weights(
    prefix: str, predictor: InContextPredictor | LearnedKeysPredictor | NPTPredictor
) -> dict[str, Tensor]:
    """Copies, as targets may share a network and a file must not hold a tensor twice."""
    return {f"{prefix}.{name}": value for name, value in _compact(predictor.model.state_dict()).items()}


def _compact(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies, in half precision where nothing is lost by it, as in the shipped weights."""
    halves = {name: value.half() for name, value in weights.items() if value.is_floating_point()}
    lossless = {name: half for name, half in halves.items() if half.to(weights[name].dtype).equal(weights[name])}
    return {name: lossless[name] if name in lossless else value.clone() for name, value in weights.items()}


def _settings(estimator: Estimator) -> dict[str, Any]:
    settings = {**estimator.get_params(deep=False), "random_state": estimator.seed_}
    return {name: _plain(value) for name, value in settings.items() if name not in NOT_SAVED}


def _plain(value: Any) -> Any:
    """A setting as YAML stores it."""
    if isinstance(value, Mapping):
        return dict(value)
    return value.item() if isinstance(value, np.generic) else str(value) if isinstance(value, Path) else value


def _keys(estimator: Estimator) -> dict[str, Any]:
    return {"columns": [{"name": name, "cells": cells.tolist()} for name, cells in estimator.keys_.items()]}


def describe_targets(estimator: Estimator) -> list[dict[str, Any]]:
    """The name of each target and its classes, for `config.yaml`."""
    targets = zip(estimator.target_names_, _labels(estimator), strict=True)
    return [{"name": name, "dtype": _dtype(labels), "labels": _label_list(labels)} for name, labels in targets]


def _labels(estimator: Estimator) -> list[np.ndarray]:
    if not is_classifier(estimator):
        return [np.empty(0)] * len(estimator.tables_)
    return list(estimator.classes_) if estimator.multi_output_ else [np.asarray(estimator.classes_)]


def _dtype(labels: np.ndarray) -> str:
    return "str" if labels.dtype.kind == "U" else str(labels.dtype) if labels.dtype.kind in "biufM" else "object"


def _label_list(labels: np.ndarray) -> list[Label]:
    plain = labels.astype(str) if labels.dtype.kind == "M" else labels
    return [as_label(one) for one in plain.tolist()]
