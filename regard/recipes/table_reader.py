"""A network that reads tables it has never seen, learned from invented ones."""

from contextlib import nullcontext
from pathlib import Path

from regard.core.errors import ConfigError
from regard.models import InContext
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, make_run
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
    return make_run(lambda ranks: nullcontext(prepare(plan)), out, resume=resume, overwrite=overwrite)


def prepare(plan: Plan) -> Prepared:
    if not isinstance(plan.data, Prior) or not isinstance(plan.model, InContext):
        raise ConfigError(f"model: {type(plan.model).__name__} does not read tables in context; choose InContext")
    held_out = InventedTables(plan.data, HELD_OUT)
    return Prepared(
        plan=plan,
        train=InventedTables(plan.data),
        valid=held_out,
        tokenizer=None,
        score=lambda run, loss: {"invented": loss},
    )
