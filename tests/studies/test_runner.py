"""What all studies share: estimates, refusals, the job pool, plots."""

import re
import signal
from pathlib import Path
from unittest.mock import Mock

import matplotlib
import pytest

from regard.studies.ablate.base import base_plan
from regard.studies.runner import pool
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.plots import draw_lines
from tests.command import regard
from tests.studies.conftest import TINY


@pytest.mark.parametrize(
    ("study", "runs"),
    [
        (
            ["ablate", "--task", "lm", "--data", "text.txt", "--steps", 2, "--seeds", 1, "--only", "window", *TINY],
            "4 runs",
        ),
        (["scale", "--data", "text.txt", "--steps", 8, "--sizes", "4x1", "4x2", "8x1", "16x1", *TINY[2:]], "12 runs"),
        (["scale", "--data", "text.txt", "--steps", 8, "--sizes", "4x1", "4x2", "8x1", "16x1"], "16 runs"),
        (["distance", "--distances", 1, "--lengths", 16, "--steps", 1, "--seeds", 1], "3 runs"),
    ],
    ids=["ablate", "scale", "scale with rates", "distance"],
)
def test_the_estimated_time_is_logged_before_the_first_run(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, study: list[object], runs: str
):
    def no_time(*_: object) -> None:
        raise pool.UserError("here the first run would begin")

    monkeypatch.setattr(pool, "_run", no_time)
    verb, *words = study
    assert regard("study", verb, *words, "--out", "s", "--processes", 2) == 1
    *before, last = capsys.readouterr().err.strip().splitlines()
    assert "the first run would begin" in last
    [line] = [line for line in before if " runs of about " in line]
    assert re.fullmatch(rf"{runs} of about [1-9]\d* s on 2 cores: about \d+:\d\d", line)
    assert any(line.startswith("then the predicted run") for line in before) == (verb == "scale")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ablate", "--task", "lm", "--data", "none.txt", "--out", "s", "--steps", 4], "none.txt"),
        (["ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--only", "no-nrm"], "did you mean 'no-norm'"),
        (["ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--minutes", 0], "minutes: must be more than"),
        (["ablate", "--task", "table", "--data", "text.txt", "--out", "s"], "name the column"),
        (["scale", "--data", "text.txt", "--out", "s", "--sizes", "64"], "--sizes 64: must be width x layers"),
        (
            ["scale", "--data", "text.txt", "--out", "s", "--sizes", "16x1", "32x1"],
            "sizes: needs at least three",
        ),
        (["scale", "--data", "text.txt", "--out", "s", "--for-budget", 0], "--for-budget 0: must be a number"),
        (["distance", "--out", "s", "--distances", 0], "distances: needs distinct positive integers"),
        (["heads", "--out", "s"], "name the run folders"),
        (["heads", "nowhere", "--out", "s"], "nowhere: there is no such folder"),
    ],
)
def test_bad_input_is_one_line(here: Path, capsys: pytest.CaptureFixture[str], words: list[object], message: str):
    assert regard("study", *words) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_failed_run_is_named_with_its_last_line(tmp_path: Path):
    folder = StudyFolder(tmp_path / "s").open({})
    folder.log("base-0").parent.mkdir()
    folder.log("base-0").write_text("training\nregard: the disk is full\n")
    with pytest.raises(pool.UserError, match=r"run base-0 failed \(1\): the disk is full"):
        pool._check(folder, "base-0", 1)
    folder.write_outcome("base-0", Outcome(2.0, 4, 1.0))
    pool._check(folder, "base-0", 0)
    assert folder.outcome("base-0") == Outcome(2.0, 4, 1.0)


def test_a_run_that_was_just_started_gets_one_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A second signal would end it before it saves."""
    process = Mock(returncode=0)
    process.poll.side_effect = [None, None, 0]

    def start(*_: object) -> Mock:
        signal.raise_signal(signal.SIGINT)  # before anybody knows of the process
        return process

    monkeypatch.setattr(pool, "_start", start)
    job = Job("base", 0, base_plan("lm", ("text.txt",), (), None, 1.0))
    with pytest.raises(pool.StoppedError):
        pool.run_jobs(StudyFolder(tmp_path / "s").open({}), [job], 1)
    assert process.terminate.call_count == 1


def test_plots_leave_the_backend_of_a_notebook_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(matplotlib, "use", lambda *_: pytest.fail("it was chosen already"))
    assert draw_lines({"a": [(1.0, 2.0), (2.0, 3.0)]}, "x", "y").count("<svg") == 1
