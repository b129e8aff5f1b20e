"""A network that reads tables it has never seen, learned from invented ones."""

from contextlib import nullcontext
from pathlib import Path

from torch import Tensor

from regard.core import tensors
from regard.core.errors import ConfigError
from regard.models import InContext
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
from regard.run import WEIGHTS, RunFolder
from regard.tables.prior import InventedTables, Prior
from regard.tasks import ReadTable
from regard.train import AdamW, CoolDown, Muon, Report, Training

HELD_OUT = 64  # groups of tables to measure by


def table_reader() -> Plan:
    return Plan(
        data=Prior(),
        task=ReadTable(),
        model=InContext(),
        training=Training(
            minutes=60,
            optimiser=Muon(rate=0.01, decay=0.01, rest=AdamW(rate=2e-3, decay=0.01)),
            schedule=CoolDown(warmup=100, hold=0.7),
            average=0.999,
            check_every=500,
            save_minutes=2.0,
        ),
    )


def train_table_reader(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    goes_on = resume and bool(RunFolder(out).checkpoints())
    return make_run(lambda ranks: nullcontext(prepare(plan, goes_on)), out, resume=resume, overwrite=overwrite)


def prepare(plan: Plan, goes_on: bool = False) -> Prepared:
    """What the run begins from is not needed any more once it goes on from a checkpoint of its own."""
    if not isinstance(plan.data, Prior) or not isinstance(plan.model, InContext):
        raise ConfigError(f"model: {type(plan.model).__name__} does not read tables in context; choose InContext")
    weights = {} if plan.init is None or goes_on else _matching(plan.model, Path(plan.init))
    held_out = InventedTables(plan.data, HELD_OUT)
    return Prepared(
        plan=plan,
        train=InventedTables(plan.data),
        valid=held_out,
        tokenizer=None,
        score=lambda run, loss: {"invented": loss},
        weights=weights,
    )


def _matching(model: InContext, path: Path) -> dict[str, Tensor]:
    """The weights of another run, as far as this network has a place for them: it may have learned to take in more."""
    found, places = tensors.load(path / WEIGHTS), model.build().state_dict()
    return {name: value for name, value in found.items() if name in places and places[name].shape == value.shape}
