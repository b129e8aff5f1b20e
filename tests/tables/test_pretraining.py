"""Pre-training on synthetic tables: in one process, on two ranks, continued, and used."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from regard.core import tensors
from regard.store import WEIGHTS, read_metrics
from regard.tables.prior import SyntheticTables
from regard.tasks.base import Workspace
from regard.tasks.pretrain_tables.recipe import in_context_tables
from tests.command import regard

STEPS = 6
TINY = [
    "--model.width=32", "--model.heads=2", "--model.layers=1", "--model.cell-width=16", "--model.cell-layers=1",
    "--data.budget=600", "--data.max-rows=64", "--data.groups=4", "--training.log-every=1",
]  # fmt: skip


def pretrain(out: Path) -> list[object]:
    return ["pretrain", "tables", "--out", out, f"--steps={STEPS}", *TINY]


def losses(run: Path) -> list[float]:
    return [line["loss"] for line in read_metrics(run) if "loss" in line]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process learns."""
    out = tmp_path_factory.mktemp("pretrained") / "reader"
    assert regard(*pretrain(out)) == 0
    return out


def test_ranks_that_draw_other_kinds_of_tables_learn_as_one(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The two processes are started with the words of the command, not with those of this test's own process."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert regard(*pretrain(tmp_path / "two"), "--processes=2") == 0
    assert len(losses(alone)) == STEPS
    assert losses(tmp_path / "two") == pytest.approx(losses(alone), abs=2e-3)  # Muon counts in bfloat16


def test_what_was_learned_reads_a_table(alone: Path, tmp_path: Path):
    pd.DataFrame({"x": np.arange(40) % 7, "y": np.arange(40) % 2}).to_csv(tmp_path / "table.csv", index=False)
    words = ["--target=y", "--task=classify", "--mode=in_context", "--weights", alone]
    assert regard("fit", tmp_path / "table.csv", "--out", tmp_path / "run", *words) == 0
    assert regard("predict", tmp_path / "run", tmp_path / "table.csv", "--out", tmp_path / "predicted.csv") == 0
    assert len(pd.read_csv(tmp_path / "predicted.csv")) == 40


def test_another_run_goes_on_from_what_was_learned(alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    still = ["--training.optimiser.lr=0", "--training.optimiser.adamw.lr=0", "--training.ema=0"]
    words = [*pretrain(tmp_path / "more"), "--init", alone, *still, "--model.layers=2"]
    assert regard(*words) == 0
    learned, more = (tensors.load(run / WEIGHTS) for run in (alone, tmp_path / "more"))
    assert learned.keys() < more.keys()  # a second layer, of which the first run knows nothing
    for name, value in learned.items():
        torch.testing.assert_close(more[name], value)
    assert "started from" in (tmp_path / "more" / "card.md").read_text()
    assert f"{len(learned)} of the {len(more)} tensors" in capsys.readouterr().err
    assert regard(*pretrain(tmp_path / "none"), "--init", tmp_path / "nothing") == 1
    assert str(tmp_path / "nothing") in capsys.readouterr().err
    tensors.save(tmp_path / WEIGHTS, {"other": torch.ones(2)})
    assert regard(*pretrain(tmp_path / "none"), "--init", tmp_path) == 2
    assert f"{tmp_path} shares no weights with this model" in capsys.readouterr().err
    assert regard(*pretrain(tmp_path / "none"), "--training.batch_size=8") == 2
    assert "data.groups" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_seed_draws_other_tables_and_is_validated_on_the_same(tmp_path: Path):
    plan = in_context_tables()
    other = replace(plan, training=replace(plan.training, seed=3))
    with (
        plan.task.prepare(plan, Workspace(tmp_path)) as first,
        other.task.prepare(other, Workspace(tmp_path)) as second,
    ):
        pass
    assert first.train == SyntheticTables(plan.data), "seed 0 is the prior's own"
    assert second.train.batch(0) != first.train.batch(0)
    assert second.valid == first.valid
