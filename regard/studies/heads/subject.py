"""The subject of a study of heads: a trained model, some of its validation data, and its loss there."""

import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.core.batches import Objective
from regard.core.errors import UserError
from regard.core.machine import device_of
from regard.parts import MultiHead
from regard.store import COLUMNS
from regard.studies.heads.duplicates import hide_targets
from regard.studies.runner.folder import StudyFolder
from regard.studies.runner.prepare import prepared
from regard.tables.network.scratch import NPTPredictor
from regard.tables.persist.load import load
from regard.tasks import MaskedCells, Run, load_run
from regard.tasks.plan import stored_plan

MAX_LENGTH = 200  # tokens of a sentence with a tree, for a model that was not trained on windows of a fixed length


@dataclass(frozen=True)
class Subject:
    path: Path
    model: nn.Module
    task: Objective
    batches: list[Any]
    run: Run | None = None  # of texts or images; a fitted table has none
    max_length: int = MAX_LENGTH
    loss: float = 0.0
    seconds: float = 0.0  # to measure the loss once

    @property
    def attentions(self) -> dict[str, MultiHead]:
        return attentions_of(self.model)

    def pending(self, folder: StudyFolder) -> int:
        """The number of heads that the folder has no result for."""
        return sum(
            count_heads(heads) for name, heads in self.attentions.items() if not folder.has(self.cache_key(name))
        )

    def cache_key(self, attention: str) -> str:
        return f"{self.path} {attention}"

    def measure_loss(self) -> float:
        """Mean loss over the batches, on the model's own device."""
        device = device_of(self.model)
        losses = [self.task.loss(self.model, batch.to(device)) for batch in self.batches]
        return float(sum(loss.total for loss in losses) / sum(loss.terms for loss in losses))


def load_subject(path: Path, batches: int) -> Subject:
    if (path / COLUMNS).exists():
        network = _table_network(path)
        return _measured(Subject(path, network.model, MaskedCells(), [hide_targets(network)]))
    run = load_run(path)
    if not attentions_of(run.model):
        raise UserError(f"{path}: its {type(run.config).__name__} has no attention, so there are no heads to study")
    plan = stored_plan(path)
    max_length = getattr(plan.data, "length", MAX_LENGTH)  # the model never saw longer windows
    with prepared(plan, path) as ready:
        if ready.valid is None:
            raise UserError(f"{path}: has no validation data")
        some = list(islice(ready.valid.once(), batches))
        return _measured(Subject(path, run.model, plan.task, some, run, max_length))


def _table_network(path: Path) -> NPTPredictor:
    networks = getattr(load(path), "predictors_", [])
    if len(networks) != 1 or not isinstance(networks[0], NPTPredictor):
        raise UserError(f"{path}: has no network trained on its table; fit it with `regard fit --mode scratch`")
    return networks[0]


@torch.inference_mode()
def _measured(subject: Subject) -> Subject:
    replace(subject, batches=subject.batches[:1]).measure_loss()  # warms up
    start = time.monotonic()
    loss = subject.measure_loss()
    return replace(subject, loss=loss, seconds=time.monotonic() - start)


def attentions_of(model: nn.Module) -> dict[str, MultiHead]:
    """Every attention by its path in the model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, MultiHead)}


def count_heads(heads: MultiHead) -> int:
    return heads.out.in_features // heads.head_size
