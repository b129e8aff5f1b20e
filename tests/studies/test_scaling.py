"""Scaling studies from the command line to the report."""

import json
import re
from pathlib import Path

import pytest

from regard.studies.runner.folder import StudyFolder
from regard.studies.scale.flops import count_parameters, training_flops
from regard.studies.scale.scaling import Scaling, _base, _sized
from regard.train import AdamW
from tests.command import regard


def test_a_scaling_study_predicts_before_it_checks(here: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--data", "text.txt", "--out", "s", "--steps", 16, "--sizes", "4x1", "8x1", "16x1", "16x2"]
    settings = ["--data.length=16", "--training.batch_size=4", "--training.optimiser.lr=1e-3", "--model.dropout=0.2"]
    assert regard("study", "scale", *words, *settings, "--for-budget", "1e15") == 0
    printed = capsys.readouterr().err
    budgets = [float(flops) for flops in re.findall(r"best size for (\S+) FLOPs: [\d,]+ \(.*\) parameters", printed)]
    prediction, last = (here / "s" / "prediction.json"), (here / "s" / "outcomes" / "16x2@16-0.json")
    assert prediction.stat().st_mtime_ns < last.stat().st_mtime_ns
    assert set(json.loads(prediction.read_text())["loss"]) == {"value", "low", "high"}
    report = (here / "s" / "report.md").read_text()
    plans = [StudyFolder(here / "s").plan(f"{size}@16-0") for size in ("16x2", "4x1", "8x1", "16x1")]
    assert "inside that interval" in report or "outside that interval" in report
    most, embeddings = (
        max(training_flops(p.model, 16, 16 * 4 * 16) for p in plans[1:]),
        count_parameters(plans[0].model),
    )
    assert budgets == [pytest.approx(flops, rel=0.01) for flops in (most, 10 * most, 100 * most, 1e15)]
    assert f"| 16x2@16-0 (predicted) | {embeddings.other:,} | {embeddings.embedding:,} | 1,024 |" in report
    assert json.loads(prediction.read_text())["embedding"] == embeddings.embedding
    assert len(list((here / "s" / "outcomes").iterdir())) == 3 * 4 + 1
    plan = plans[0]
    assert plan.training.optimiser == AdamW(lr=2.5e-4), "a quarter of the 1e-3 of a width of 4"
    assert plan.model.dropout == 0.2


def test_wider_models_have_lower_learning_rates_and_no_dropout(here: Path):
    plans = _sized(_base(Scaling(("text.txt",))), ("64x3", "256x6"))
    assert plans["64x3"].training.optimiser == AdamW(lr=2e-3)
    assert plans["256x6"].training.optimiser == AdamW(lr=5e-4), "a quarter for four times the width"
    assert plans["256x6"].model.dropout == 0.0
