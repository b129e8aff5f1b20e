"""In-context learning on tables: predict the targets of query rows from context rows, on synthetic tables."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor, nn

from regard.core import tensors
from regard.core.batches import Loss
from regard.core.errors import ConfigError, UserError
from regard.models import InContext
from regard.store import WEIGHTS, RunFolder
from regard.tables.network.in_context_loss import in_context_loss
from regard.tables.prior import Prior, SyntheticTables
from regard.tasks.base import EvalOptions, Prepared, Run, Settings, Task, Workspace
from regard.train import Training

VALIDATION_GROUPS = 64  # of synthetic tables

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InContextTables(Task):
    squared_error: float = 0.5  # weight of the squared error of a numeric target, beside the pinball loss

    data: ClassVar[tuple[type, ...]] = (Prior,)
    unit: ClassVar[str] = "cells"
    verb: ClassVar[str] = "pretrain tables"
    next_command: ClassVar[str] = "regard fit TABLE.csv --target COLUMN --out runs/table --weights {}"
    named: ClassVar[tuple[str, ...]] = ("predict",)
    reads_init: ClassVar[bool] = True

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        return in_context_loss(model, batch, self.squared_error)

    @contextmanager
    def prepare(self, plan: Settings, workspace: Workspace) -> Iterator[Prepared]:
        if not isinstance(plan.data, Prior) or not isinstance(plan.model, InContext):
            raise ConfigError(f"model: {type(plan.model).__name__} does not read tables in context; choose InContext")
        continued = workspace.resume and bool(RunFolder(workspace.out).checkpoints())
        if plan.training.batch_size != Training.batch_size and not continued:
            raise ConfigError("training.batch_size: tables come in groups, not rows: set data.groups and data.budget")
        weights = {}
        if plan.init is not None and not continued:
            weights = _matching_weights(plan.model, Path(plan.init), log_notes=workspace.ranks.first)
        # Runs of different seeds are trained on different tables and validated on the same ones.
        drawn = replace(plan.data, seed=plan.data.seed or plan.training.seed)
        yield Prepared(
            task=self,
            model=plan.model,
            train=SyntheticTables(drawn),
            valid=SyntheticTables(plan.data, VALIDATION_GROUPS),
            tokenizer=None,
            score=lambda run, loss: {"synthetic": loss},
            weights=weights,
        )

    def answer(self, run: Run, inputs: Any, **options: Any) -> Any:
        """Predictions for query rows: `run((table, target, query_rows))`."""
        if not isinstance(inputs, tuple) or len(inputs) != 3:
            raise ConfigError(
                f"{run.path}: takes (table, target, query rows) and predicts the target of each query row"
            )
        return self.predict(run, *inputs, **options)

    def predict(self, run: Run, table: Any, target: Any, query: Any, *, classify: bool = True) -> Any:
        """Predict the target of query rows in context; with `classify` false the target is a number."""
        from regard.tables import NPTClassifier, NPTRegressor

        kind = NPTClassifier if classify else NPTRegressor
        return kind(mode="in_context", weights=run.path).fit(table, target).predict(query)

    def evaluate(self, run: Run, files: Sequence[str], options: EvalOptions) -> dict[str, Any]:
        raise UserError(f"{run.path}: `regard fit TABLE.csv --target COLUMN --weights {run.path}` makes a run")


def _matching_weights(model: InContext, path: Path, *, log_notes: bool) -> dict[str, Tensor]:
    """The weights of another run that fit this network, which may have parts that the other lacks."""
    stored, needed = tensors.load(path / WEIGHTS), model.build().state_dict()
    taken = {name: value for name, value in stored.items() if name in needed and needed[name].shape == value.shape}
    if not taken:
        raise ConfigError(f"init: {path} shares no weights with this model")
    if log_notes:
        log.info("%s: %s of the %s tensors of this model start from it", path, f"{len(taken):,}", f"{len(needed):,}")
    return taken
