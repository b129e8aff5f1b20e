"""Heads between rows are known for looking at the copy of a row that tells its target."""

import json
import random
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from regard.core.errors import UserError
from regard.models import NPT
from regard.parts.taps import Tap
from regard.studies.heads.duplicates import duplicate_shares, with_duplicates
from regard.studies.heads.subject import Subject
from regard.tables.network.masked_cells import CellBatch
from tests.command import regard


def batch_of(rows: int = 10, queries: int = 4) -> CellBatch:
    """The targets of the last rows are hidden."""
    truth = torch.randn(1, rows, 3, generator=torch.Generator().manual_seed(0))
    hidden = torch.zeros_like(truth, dtype=torch.bool)
    hidden[:, -queries:, -1] = True
    return CellBatch(truth.masked_fill(hidden, 0.0), hidden, hidden, truth, features=0.0)


def test_copies_differ_from_their_rows_only_in_showing_the_target():
    batch = batch_of()
    shown, rows, places = with_duplicates(batch)
    assert rows.tolist() == [6, 7, 8, 9]
    assert sorted(places.tolist()) == [10, 11, 12, 13]
    torch.testing.assert_close(shown.cells[0, places, :-1], batch.cells[0, rows, :-1])
    torch.testing.assert_close(shown.cells[0, places, -1], batch.truth[0, rows, -1])
    assert not shown.masked[0, places].any()
    assert shown.masked[0, rows, -1].all(), "the rows themselves still hide it"
    assert torch.equal(shown.predicted.nonzero(), batch.predicted.nonzero()), "what is shown is not predicted"


class Lookup(nn.Module):
    """One head looks at other rows with the same features, the other at the row itself."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ModuleList([nn.ModuleDict({"attend": nn.ModuleDict({"pattern": Tap()})})])

    def forward(self, cells: Tensor, hidden: Tensor) -> None:
        features = cells[0, :, :-1]
        itself = torch.eye(len(features))
        alike = (features[:, None] == features[None]).all(-1).float() - itself
        self.rows[0]["attend"]["pattern"](torch.stack([alike, itself])[None])


def test_heads_that_look_up_the_duplicate_are_recognised():
    share = duplicate_shares(Lookup(), batch_of())["rows.0.attend"]
    assert share["its duplicate"][0].tolist() == [1.0, 0.0]
    assert share["itself"][0].tolist() == [0.0, 1.0]


def test_uniform_attention_has_the_uniform_share():
    model = NPT(categories=(0, 0, 0), width=8, layers=1, heads=2, dropout=0.0).build().eval()
    with torch.no_grad():
        for part in model.rows[0].attend.query.parameters():
            part.zero_()
        shares = duplicate_shares(model, batch_of())
    assert list(shares) == ["rows.0.attend"], "cells of a row have no duplicates"
    for share, uniform in shares["rows.0.attend"].values():
        assert uniform == pytest.approx(1 / 14)
        torch.testing.assert_close(share, torch.full((2,), uniform))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = random.Random(0)
    rows = [(rng.random(), rng.choice("ab")) for _ in range(40)]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,kind,y\n" + "".join(f"{x:.3f},{k},{2 * x:.3f}\n" for x, k in rows))
    return tmp_path


def test_heads_of_a_fitted_table_and_a_study_that_was_stopped(table: Path, monkeypatch: pytest.MonkeyPatch):
    assert regard("fit", "t.csv", "--target", "y", "--mode", "scratch", "--time-limit", 0.2, "--out", "run") == 0
    words = ("study", "heads", "run", "--out", "s")
    measure, times = Subject.measure_loss, []

    def stops(subject: Subject) -> float:
        times.append(subject)
        if len(times) == 12:  # two to see what it takes, four heads of the first attention and of the second, two more
            raise UserError("stopped")
        return measure(subject)

    monkeypatch.setattr(Subject, "measure_loss", stops)
    assert regard(*words) == 1
    assert regard(*words) == 0
    assert len(times) == 12 + 2 + 4 * 6, "of eight attentions two were known"
    [report] = json.loads((table / "s" / "heads.json").read_text())
    assert len(report["heads"]) == 8 * 4
    assert all(("its duplicate" in head["shares"]) == head["layer"].startswith("rows.") for head in report["heads"])
    assert "its duplicate" in (table / "s" / "report.md").read_text()
    assert regard("study", "heads", "run", "--out", "whole") == 0
    assert (table / "whole" / "heads.json").read_bytes() == (table / "s" / "heads.json").read_bytes()


def test_a_table_that_is_predicted_in_context_is_refused_in_one_line(table: Path, capsys: pytest.CaptureFixture[str]):
    assert regard("fit", "t.csv", "--target", "y", "--mode", "in_context", "--out", "run") == 0
    capsys.readouterr()
    assert regard("study", "heads", "run", "--out", "s") == 1
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "fit it with `regard fit --mode scratch`" in line
