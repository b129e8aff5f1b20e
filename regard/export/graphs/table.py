"""A fitted table as a graph: the context rows are read once, and kept as constants; query rows come in encoded.

What is kept of them are keys and values of attention, labels, sorted columns and the support of kernel ridge.
"""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.closed_form import RowFeatures
from regard.core.errors import ConfigError
from regard.export.graphs.base import Graph, Input
from regard.export.graphs.caches import GivenKeys
from regard.models.in_context import Context
from regard.parts.cache import KVCache
from regard.tables.encode.cells import as_label
from regard.tables.ensemble import Ensemble, Member
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.network.contexts import GLOBAL, TableContext
from regard.tables.network.in_context import InContextPredictor
from regard.tables.network.in_context_loss import quantile_levels

ROWS = 3  # of the example
REFIT = "`regard fit … --mode in_context` makes one that can be exported"


class NetworkGraph(nn.Module):
    """One network and the contexts of its members, as constants; members of the same shape are read in one pass."""

    def __init__(self, predictor: InContextPredictor):
        super().__init__()
        self.predictor, self.model = predictor, predictor.model
        keys = [(number, GLOBAL) for number in range(len(predictor.members))]
        stacked = predictor.contexts.stacked(keys) if len(keys) > 1 else None
        contexts = predictor.contexts.get(keys)
        first = {context.fit: place for place, context in reversed(list(enumerate(contexts)))}
        self.fits = [first[context.fit] for context in contexts]  # the first of those that describe rows alike
        self.contexts: list[TableContext] = [_constant(context) for context in contexts]
        self.stacked: Context | None = _constant(stacked)

    def forward(self, values: Tensor) -> Tensor:
        members = self.predictor.members
        described = {
            fit: RowFeatures.of_queries(self.contexts[fit].closed_forms, members[fit].select(values))
            for fit in sorted(set(self.fits))
        }
        features = [each.in_order(described[fit]) for each, fit in zip(self.contexts, self.fits, strict=True)]
        if self.stacked is not None:
            outputs = self.model.predict(self.stacked, RowFeatures.stack(features)).unbind(0)
        else:
            pairs = zip(self.contexts, features, strict=True)
            outputs = tuple(self.model.predict(context.encoded, each)[0] for context, each in pairs)
        decoded = [self.predictor.decode(member, each) for member, each in zip(members, outputs, strict=True)]
        return torch.stack(decoded).mean(0)


class ReadsRows(nn.Module):
    """The calibrated prediction of each target: probabilities, or the mean and the quantiles of a number."""

    def __init__(self, ensembles: Sequence[Ensemble]):
        super().__init__()
        self.ensembles = list(ensembles)
        self.networks = nn.ModuleList(
            nn.ModuleList(NetworkGraph(one) for one in each.predictors if isinstance(one, InContextPredictor))
            for each in ensembles
        )

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(
            self._predict(each, networks, tensors[0])
            for each, networks in zip(self.ensembles, self.networks, strict=True)
            if isinstance(networks, nn.ModuleList)
        )

    @staticmethod
    def _predict(ensemble: Ensemble, networks: nn.ModuleList, values: Tensor) -> Tensor:
        parts = [weight * network(values) for weight, network in zip(ensemble.weights, networks, strict=True)]
        whole = ensemble.calibration.apply(torch.stack(parts).sum(0))
        return whole / whole.sum(1, keepdim=True) if _classifies(ensemble) else whole


def _classifies(ensemble: Ensemble) -> bool:
    return any(isinstance(one, InContextPredictor) and one.table.classes for one in ensemble.predictors)


def table_graph(estimator: Any) -> Graph:
    """The graph of a fitted classifier or regressor."""
    check_exportable(estimator)
    values = torch.zeros(ROWS, estimator.columns_.width)
    outputs = [target["output"] for target in _targets(estimator)]
    inputs = {"values": Input(values, {0: "batch"})}
    return Graph("model", ReadsRows(estimator.predictors_), inputs, outputs)


def check_exportable(estimator: Any) -> None:
    """Refuse what has no graph, and say what has."""
    if not isinstance(estimator, NPTClassifier | NPTRegressor):
        raise ConfigError(f"{type(estimator).__name__} has no graph; a model of `regard fit --mode in_context` has")
    for column in estimator.columns_.columns:
        if column.kind == "text":
            raise ConfigError(f"column {column.name!r}: holds text, whose n-grams have no graph; fit without it")
        if column.timezone:
            raise ConfigError(f"column {column.name!r}: its dates have a time zone; fit with dates without one")
    for ensemble in estimator.predictors_:
        if not isinstance(ensemble, Ensemble):
            raise ConfigError(f"mode {estimator.mode!r} has no graph; {REFIT}")
        for one in ensemble.predictors:
            if not isinstance(one, InContextPredictor):
                raise ConfigError(
                    f"mode {estimator.mode!r} trained a {type(one).__name__}, which has no graph; {REFIT}"
                )
            if any(one.is_local(number) for number in range(len(one.members))):
                rows = len(one.table.values)
                raise ConfigError(f"{rows:,} rows are too many for one context; `regard distil` makes a smaller model")


def describe_table(estimator: Any) -> dict[str, Any]:
    """How cells become numbers, and what the predictions are."""
    names = ("name", "kind", "filled", "has_time", "categories")
    columns = [{name: getattr(column, name) for name in names} for column in estimator.columns_.columns]
    note = "The graph holds sorted columns and encoded training rows. No row stands in it in clear text, but it is not"
    notes = [f"{note} anonymous: keep it as you keep the table."]
    return {"task": "table", "columns": columns, "targets": _targets(estimator), "notes": notes}


def _targets(estimator: Any) -> list[dict[str, Any]]:
    classes: Any = [None] * len(estimator.predictors_)
    if isinstance(estimator, NPTClassifier):
        classes = estimator.classes_ if estimator.multi_output_ else [estimator.classes_]
    targets = []
    for number, (name, labels) in enumerate(zip(estimator.target_names_, classes, strict=True)):
        target: dict[str, Any] = {"name": name or f"target{number}", "output": f"prediction.{number}"}
        if labels is not None:
            target["classes"] = [as_label(label) for label in labels]
        else:
            count = estimator.predictors_[number].predictors[0].model.config.quantiles
            target["levels"] = [round(level, 6) for level in quantile_levels(count).tolist()]
        targets.append(target)
    return targets


def _constant(value: Any) -> Any:
    """The same with tensors of its own: those of inference mode cannot be traced."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, KVCache):
        return GivenKeys(*(each.clone() for each in value.stored()))
    if isinstance(value, list | tuple):
        return [_constant(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type | Member):
        return replace(value, **{one.name: _constant(getattr(value, one.name)) for one in fields(value)})
    return value
