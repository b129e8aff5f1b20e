"""Loading what a fitted table predicts with: networks, their weights and the tensors beside them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core import tensors
from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError, UserError
from regard.core.model import outline_of, unfilled
from regard.models import NPT, InContext
from regard.models.nca import NCA
from regard.store import COLUMNS
from regard.tables.calibrate import BEYOND, MAX_SCALE, Calibration
from regard.tables.encode.cells import LARGEST
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Ensemble
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.network.in_context import ClosedFormCache, InContextPredictor, Members
from regard.tables.network.learned_keys import LearnedKeysPredictor
from regard.tables.network.masking import StandardisedTable
from regard.tables.network.scratch import QUANTILES, NPTPredictor
from regard.tables.persist.schema import Section, Tensors, shown
from regard.tables.persist.trees import read_trees
from regard.tables.predictor import Predictor

Estimator = NPTClassifier | NPTRegressor
MAX_MEMBERS = 256
MAX_PARTS = 64
MAX_LEVELS = 1000
MAX_SEED = 2**32 - 1


def read_predictor(number: int, section: Section, estimator: Estimator, table: Tensors, weights: Tensors) -> Predictor:
    kind = section.choice("predictor", ("ensemble", "scratch"))
    read = _read_scratch if kind == "scratch" else _read_ensemble
    predictor = read(number, section, estimator, table, weights)
    section.done()
    return predictor


def _read_ensemble(number: int, section: Section, estimator: Estimator, table: Tensors, weights: Tensors) -> Ensemble:
    calibration = _read_calibration(section.section("calibration"))
    encoded, seed, cache = estimator.tables_[number], estimator.seed_, ClosedFormCache()
    predictors: list[Predictor] = []
    shares = []
    for place, part in enumerate(section.sections("parts", 1, MAX_PARTS)):
        shares.append(part.number("weight", 0, 1))
        kind, prefix = part.choice("kind", ("in_context", "learned_keys", "trees")), f"{number}.{place}."
        if kind == "trees":
            predictors.append(read_trees(weights, prefix, encoded))
        elif kind == "learned_keys":
            predictors.append(_read_learned_keys(part, encoded, seed, weights.take(prefix), weights.file))
        else:
            members = _read_members(part.section("members"))
            model = build_model(InContext, part, "config", weights.take(prefix), weights.file)
            predictors.append(InContextPredictor(model, encoded, members, seed, cache))
        part.done()
    if abs(sum(shares) - 1) > 1e-3:
        raise section.error("parts", f"the weights must sum to 1, not {sum(shares):g}")
    return Ensemble(predictors, shares, calibration)


def _read_calibration(section: Section) -> Calibration:
    temperature, levels = section.number("temperature", 1e-3, 1e3), _read_levels(section)
    scale, sign = section.number("scale", 1 / MAX_SCALE, MAX_SCALE), section.integer("sign", -1, 1)
    section.done()
    return Calibration(temperature, levels, scale, sign)


def _read_levels(section: Section) -> Tensor | None:
    """Calibrated levels of the quantiles; null if they are as predicted."""
    if section.value("levels") is None:
        return None
    items = section.items("levels", 1, MAX_LEVELS)
    levels = [section.as_number(f"levels.{place}", item, -BEYOND, 1 + BEYOND) for place, item in enumerate(items)]
    if levels != sorted(levels):
        raise section.error("levels", "must ascend")
    return torch.tensor(levels, dtype=torch.double)


def _read_members(section: Section) -> Members:
    members = Members(
        section.integer("count", 1, MAX_MEMBERS), section.integer("first", 0, MAX_SEED), section.boolean("local")
    )
    section.done()
    return members


def _read_learned_keys(
    section: Section, table: EncodedTable, seed: int, weights: Mapping[str, Tensor], source: Path
) -> LearnedKeysPredictor:
    model = build_model(NCA, section, "config", weights, source)
    if [count > 0 for count in model.config.categories] != table.category.tolist():
        raise section.error("config.categories", f"do not match the kinds of {COLUMNS}")
    return LearnedKeysPredictor(model, table, seed)


def _read_scratch(
    number: int, section: Section, estimator: Estimator, table: Tensors, weights: Tensors
) -> NPTPredictor:
    encoded = estimator.tables_[number]
    width = encoded.values.shape[1] + 1
    prefix = f"scratch.{number}."
    mean = table.numbers(f"{prefix}mean", torch.float64, (width,), -LARGEST, LARGEST)
    std = table.numbers(f"{prefix}std", torch.float64, (width,), 1e-300, LARGEST)
    cells = table.numbers(f"{prefix}cells", torch.float32, (None, width), -LARGEST, LARGEST, nan=True)
    if len(cells) < len(encoded.values):
        raise table.error(f"{prefix}cells", f"has {len(cells)} rows, fewer than values with {len(encoded.values)}")
    context = table.integers(f"{prefix}context_rows", (None,), len(cells))
    quantiles = 0 if encoded.classes else QUANTILES
    residuals_dtype = torch.float32 if encoded.classes else torch.float64
    residuals = table.numbers(f"{prefix}residuals", residuals_dtype, (quantiles,), -LARGEST, LARGEST)
    model = build_model(NPT, section, "config", weights.take(f"{number}.0."), weights.file)
    categories = model.config.categories
    if len(categories) != width or categories[-1] != encoded.classes:
        raise section.error("config.categories", f"must have {width} counts, the last {encoded.classes}")
    for column, count in enumerate(categories):
        codes = cells[:, column].nan_to_num(0.0)
        if count and ((codes < 0) | (codes >= count) | (codes != codes.round())).any():
            raise table.error(f"{prefix}cells", f"column {column} holds other codes than 0 to {count - 1}")
        if count and (mean[column] != 0 or std[column] != 1):
            raise table.error(f"{prefix}mean", f"column {column} holds categories, which are not standardised")
        if column < width - 1 and bool(count) != bool(encoded.category[column]):
            raise section.error("config.categories", f"column {column} does not match its kind")
    return NPTPredictor(model, StandardisedTable(cells, categories, mean, std), context, residuals)


def build_model(kind: Any, section: Section, key: str, weights: Mapping[str, Tensor], source: Path) -> Any:
    """A model with its weights; its config is refused before it takes memory if it does not fit them."""
    try:
        config = from_dict(kind, section.value(key), ".".join(part for part in (section.key, key) if part))
    except ConfigError as error:
        raise UserError(f"{section.file}: {error}") from None
    _check_finite(section, key, to_dict(config))
    for name, value in weights.items():
        if not value.is_floating_point() or not value.isfinite().all():
            raise UserError(f"{source}: {shown(name)}: must hold finite numbers")
    try:
        skeleton = outline_of(config)
    except (RuntimeError, OverflowError, TypeError):  # sizes beyond what torch can count
        raise section.error(key, "describes a network of impossible size") from None
    tensors.check_weights(skeleton, weights, source)
    model = unfilled(config)
    model.load_state_dict(dict(weights))
    return model.eval()


def _check_finite(section: Section, key: str, value: Any) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            _check_finite(section, f"{key}.{name}", item)
    elif isinstance(value, float) and not np.isfinite(value):
        raise section.error(key, f"must be finite, not {value}")
