"""A study that is killed resumes to the same report."""

import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.studies.distance.costs import Cost
from regard.studies.runner import learning_rate, pool
from regard.studies.runner.folder import Outcome, StudyFolder
from regard.studies.runner.timing import one_thread
from regard.studies.scale import scaling
from tests.command import regard
from tests.studies.conftest import TINY

RUN_IN_PROCESSES = pool._run  # which the fixture replaces


def test_a_study_whose_run_is_killed_with_it_resumes_to_the_same_report(here: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy of this process starts a real run and is killed once the run has a checkpoint."""
    words = ["study", "ablate", "--task", "lm", "--data", "../text.txt", "--out", "s", "--steps", "24", "--seeds", "1"]
    words += ["--only", "no-norm", "--processes", "1", "--training.checkpoint-minutes=0.001", *TINY]

    def die_at_the_first_checkpoint(_: float) -> None:
        if list(Path("s").glob("runs/*/checkpoints/step-*")):
            os.kill(os.getpid(), signal.SIGKILL)

    def kill() -> None:
        pool._run = RUN_IN_PROCESSES
        pool.time.sleep = die_at_the_first_checkpoint  # type: ignore[assignment]

    _resumes(here, monkeypatch, words, kill)


@pytest.mark.parametrize(
    "study",
    [
        ["scale", "--data", "../text.txt", "--steps", 8, "--sizes", "4x1", "4x2", "8x1", "16x1", *TINY[2:4]],
        ["distance", "--distances", 1, "--lengths", 16, "--steps", 2, "--seeds", 1],
    ],
    ids=["scale", "distance"],
)
def test_laws_and_distances_resume_to_the_same_report(here: Path, monkeypatch: pytest.MonkeyPatch, study: list[object]):
    """Killed when the third run was made but has no outcome yet."""
    monkeypatch.setattr("regard.studies.distance.recall.measure_costs", lambda lengths: [Cost("RNN", 16, 1.0, 2.0, 16)])
    monkeypatch.setattr(scaling, "FRACTIONS", (0.25, 0.5, 1.0))
    monkeypatch.setattr(learning_rate, "MAX_FACTOR", 4.0)  # losses of so few steps fall without end

    def kill() -> None:
        write_outcome = StudyFolder.write_outcome

        def die_at_the_third(folder: StudyFolder, key: str, outcome: Outcome) -> None:
            if len(list(folder.path.glob("outcomes/*.json"))) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            write_outcome(folder, key, outcome)

        StudyFolder.write_outcome = die_at_the_third  # type: ignore[method-assign]

    _resumes(here, monkeypatch, ["study", *study, "--out", "s"], kill)
    assert len(list(here.glob("killed/s/outcomes/*.json"))) > 2


def _resumes(here: Path, monkeypatch: pytest.MonkeyPatch, words: list[object], kill: Callable[[], None]) -> None:
    """`kill` arranges for the death of a copy of this process, which makes the study."""
    whole, killed = here / "whole", here / "killed"
    whole.mkdir()
    killed.mkdir()
    monkeypatch.chdir(whole)
    assert regard(*words) == 0
    monkeypatch.chdir(killed)
    with one_thread():  # the threads of a process are not copied with it
        copy = os.fork()
        if not copy:
            try:
                kill()
                regard(*words)
            finally:
                os._exit(1)  # it should be dead
        assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == -signal.SIGKILL
    assert not (killed / "s" / "report.md").exists()
    for lock in killed.glob("s/runs/*/.lock"):
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # waits until a run that was left behind has noticed and ended
    assert regard(*words) == 0
    for name in ("report.md", "report.html"):
        assert (killed / "s" / name).read_bytes() == (whole / "s" / name).read_bytes()
