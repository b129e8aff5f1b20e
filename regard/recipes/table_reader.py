"""Pre-training of the in-context table model on synthetic tables."""

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from regard.core import tensors
from regard.core.errors import ConfigError
from regard.models import InContext
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
from regard.store import WEIGHTS, RunFolder
from regard.tables.prior import Prior, SyntheticTables
from regard.tasks import InContextTables
from regard.train import WSD, AdamW, Muon, Report, Training

HELD_OUT = 64  # groups of tables to measure by


def table_reader() -> Plan:
    return Plan(
        data=Prior(),
        task=InContextTables(),
        model=InContext(),
        training=Training(
            minutes=60,
            optimiser=Muon(lr=0.01, weight_decay=0.01, adamw=AdamW(lr=2e-3, weight_decay=0.01)),
            schedule=WSD(warmup=100, stable=0.7),
            ema=0.999,
            eval_every=500,
            checkpoint_minutes=2.0,
        ),
    )


def train_table_reader(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    goes_on = resume and bool(RunFolder(out).checkpoints())
    return make_run(
        lambda ranks: nullcontext(prepare(plan, goes_on, speaks=ranks.first)), out, resume=resume, overwrite=overwrite
    )


def prepare(plan: Plan, goes_on: bool = False, *, speaks: bool = True) -> Prepared:
    """What the run begins from is not needed any more once it goes on from a checkpoint of its own."""
    if not isinstance(plan.data, Prior) or not isinstance(plan.model, InContext):
        raise ConfigError(f"model: {type(plan.model).__name__} does not read tables in context; choose InContext")
    if plan.training.batch_size != Training.batch_size and not goes_on:
        raise ConfigError("training.batch_size: tables come in groups, not in rows: set data.groups and data.budget")
    weights = {} if plan.init is None or goes_on else _matching(plan.model, Path(plan.init), speaks)
    # Runs of different seeds learn from different tables, and are measured by the same ones.
    drawn = replace(plan.data, seed=plan.data.seed or plan.training.seed)
    return Prepared(
        plan=plan,
        train=SyntheticTables(drawn),
        valid=SyntheticTables(plan.data, HELD_OUT),
        tokenizer=None,
        score=lambda run, loss: {"synthetic": loss},
        weights=weights,
    )


def _matching(model: InContext, path: Path, speaks: bool) -> dict[str, Tensor]:
    """The weights of another run, as far as this network has a place for them: it may have learned to take in more."""
    found, places = tensors.load(path / WEIGHTS), model.build().state_dict()
    taken = {name: value for name, value in found.items() if name in places and places[name].shape == value.shape}
    if not taken:
        raise ConfigError(f"init: {path} shares no weights with this model")
    if speaks:
        print(f"{path}: {len(taken):,} of the {len(places):,} tensors of this model begin from it", file=sys.stderr)
    return taken
