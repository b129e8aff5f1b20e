"""A fitted table as a run folder: settings, columns, known rows and networks, and nothing that can run code.

The known rows are part of the model, which answers by looking at them. Whoever gives such a folder away gives them too.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.core import tensors
from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError, UserError
from regard.core.files import read_json, write_text
from regard.core.version import VERSION
from regard.models import NPT, InContext
from regard.store import COLUMNS, CONFIG, TABLE, WEIGHTS, RunFolder, read_config
from regard.tables.cells import label
from regard.tables.columns import Columns, name_features
from regard.tables.estimator import NPTClassifier, NPTRegressor
from regard.tables.imputer import NPTImputer
from regard.tables.modes import Answers, Blend
from regard.tables.own_network import OwnNetwork, Prepared
from regard.tables.reader import Looks, Reader, Shared
from regard.tables.views import Table

PREPARED = ("cells", "center", "spread")
Estimator = NPTClassifier | NPTRegressor
ESTIMATORS: dict[str, type[Estimator]] = {"NPTClassifier": NPTClassifier, "NPTRegressor": NPTRegressor}


def save(estimator: Any, path: Path, *, overwrite: bool = False, more: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator; `more` is kept beside its settings."""
    learned: list[list[dict[str, Any]]] = []
    weights: dict[str, Tensor] = {}
    for number, answers in enumerate(estimator.answers_):
        learned.append([])
        for place, (part, share) in enumerate(_parts(answers)):
            looks = asdict(part.looks) if isinstance(part, Reader) else {}
            if isinstance(answers, Blend) and answers.sharpness != 1:
                looks["sharpness"] = answers.sharpness
            learned[-1].append({"share": share, **looks, "model": to_dict(part.model.config)})
            own = part.model.state_dict()  # copied, as targets may share a network and a file takes no tensor twice
            weights.update({f"{number}.{place}.{name}": value.clone() for name, value in own.items()})
    table = {"values": estimator.tables_[0].values, "category": estimator.tables_[0].category, "rows": estimator.rows_}
    table.update({f"target.{number}": own.target for number, own in enumerate(estimator.tables_)})
    for number, answers in enumerate(estimator.answers_):
        if isinstance(answers, OwnNetwork):
            own = {
                "errors": answers.errors,
                "shown": answers.shown,
                **{name: getattr(answers.table, name) for name in PREPARED},
            }
            table.update({f"own.{number}.{name}": value for name, value in own.items()})
    with RunFolder(path).open(overwrite=overwrite) as folder:
        folder.write_weights(weights)
        tensors.save(path / TABLE, table)
        write_text(path / COLUMNS, json.dumps(estimator.columns_.to_dict(), indent=1, ensure_ascii=False))
        folder.write_config({
            "regard": VERSION,
            **(more or {}),
            "estimator": type(estimator).__name__,
            "settings": _settings(estimator),
            "seed": estimator.seed_,
            "targets": [
                _describe(*each)
                for each in zip(estimator.target_names_, estimator.tables_, _labels(estimator), strict=True)
            ],
            "model": learned,
        })  # fmt: skip


def save_imputer(imputer: NPTImputer, path: Path, *, overwrite: bool = False) -> None:
    labels = [[label(one) for one in own] for own in imputer.labels_]
    with RunFolder(path).open(overwrite=overwrite) as folder:
        folder.write_weights(imputer.network_.state_dict())
        tensors.save(path / TABLE, {"values": imputer.values_})
        write_text(path / COLUMNS, json.dumps(imputer.columns_.to_dict(), indent=1, ensure_ascii=False))
        folder.write_config({
            "regard": VERSION,
            "estimator": type(imputer).__name__,
            "settings": _settings(imputer),
            "seed": imputer.seed_,
            "labels": labels,
            "model": to_dict(imputer.network_.config),
        })  # fmt: skip


def load(path: Path) -> Estimator | NPTImputer:
    """A fitted estimator from its folder."""
    config = read_config(path)
    return _load_imputer(path, config) if config.get("estimator") == "NPTImputer" else _load(path, config)


def _load_imputer(path: Path, config: Mapping[str, Any]) -> NPTImputer:
    with _explained(path):
        imputer = NPTImputer(**config["settings"])
        imputer.columns_ = Columns.from_dict(read_json(path / COLUMNS))
        imputer.n_features_in_ = len(imputer.columns_.columns)
        name_features(imputer, imputer.columns_)
        imputer.seed_ = int(config["seed"])
        imputer.values_ = tensors.load(path / TABLE)["values"]
        imputer.labels_ = [np.array([*own, None], dtype=object)[:-1] for own in config["labels"]]
        imputer.network_ = from_dict(InContext, config["model"], "model").build().eval()
        tensors.load_weights(imputer.network_, tensors.load(path / WEIGHTS), path / WEIGHTS)
        imputer._readers = {}
    return imputer


def _load(path: Path, config: Mapping[str, Any]) -> Estimator:
    with _explained(path):
        estimator = ESTIMATORS[config["estimator"]](**config["settings"])
        estimator.columns_ = Columns.from_dict(read_json(path / COLUMNS))
        estimator.seed_ = int(config["seed"])
        targets = config["targets"]
        estimator.many_ = len(targets) > 1
        estimator.target_names_ = [own["name"] for own in targets]
        table = tensors.load(path / TABLE)
        values, category, estimator.rows_ = table["values"], table["category"], table["rows"]
        estimator.tables_ = [
            Table(values, category, table[f"target.{number}"], len(own["labels"])) for number, own in enumerate(targets)
        ]
        estimator.answers_ = _answers(estimator, config["model"], tensors.load(path / WEIGHTS), table, path)
        estimator.n_features_in_ = len(estimator.columns_.columns)
        name_features(estimator, estimator.columns_)
        if isinstance(estimator, NPTClassifier):
            labels = [np.array(own["labels"], dtype=own["kind"]) for own in targets]
            estimator.classes_ = labels if estimator.many_ else labels[0]
    return estimator


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What is wrong with a folder, in one line."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path / CONFIG}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise UserError(f"{path / CONFIG}: is no table's ({type(error).__name__}: {error})") from None


def _answers(
    estimator: Estimator, learned: Any, weights: Mapping[str, Tensor], kept: Mapping[str, Tensor], path: Path
) -> list[Answers]:
    found: list[Answers] = []
    for number, (parts, table) in enumerate(zip(learned, estimator.tables_, strict=True)):
        readers: list[Reader] = []
        shared = Shared()
        for place, part in enumerate(parts):
            config = from_dict(InContext | NPT, part["model"], "model")
            model = config.build()
            start = f"{number}.{place}."
            own = {name.removeprefix(start): value for name, value in weights.items() if name.startswith(start)}
            tensors.load_weights(model, own, path / WEIGHTS)
            if isinstance(config, NPT):
                cells, center, spread = (kept[f"own.{number}.{name}"] for name in PREPARED)
                prepared = Prepared(cells, config.categories, center, spread)
                shown, errors = (kept[f"own.{number}.{name}"] for name in ("shown", "errors"))
                found.append(OwnNetwork(model, prepared, shown, errors))
            else:
                looks = Looks(int(part["views"]), int(part["first"]), bool(part["local"]))
                readers.append(Reader(model, table, looks, estimator.seed_, shared))
        if readers:
            sharpness = float(parts[0].get("sharpness", 1.0))
            found.append(Blend(readers, [float(part["share"]) for part in parts], sharpness))
    return found


def _parts(answers: Answers) -> list[tuple[Any, float]]:
    return list(zip(answers.readers, answers.shares, strict=True)) if isinstance(answers, Blend) else [(answers, 1.0)]


def _settings(estimator: Estimator | NPTImputer) -> dict[str, Any]:
    settings = {**estimator.get_params(deep=False), "random_state": estimator.seed_}
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    """A setting as YAML has it."""
    if isinstance(value, Mapping):
        return dict(value)
    return value.item() if isinstance(value, np.generic) else str(value) if isinstance(value, Path) else value


def _labels(estimator: Estimator) -> list[np.ndarray]:
    if not isinstance(estimator, NPTClassifier):
        return [np.empty(0)] * len(estimator.tables_)
    return list(estimator.classes_) if estimator.many_ else [np.asarray(estimator.classes_)]


def _describe(name: str | None, table: Table, labels: np.ndarray) -> dict[str, Any]:
    kind = "object" if labels.dtype == object else str(labels.dtype)
    return {"name": name, "rows": len(table.values), "kind": kind, "labels": [label(one) for one in labels.tolist()]}
