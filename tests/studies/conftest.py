"""A folder with a text, in which the runs of a study are made in this process."""

from pathlib import Path

import pytest

from regard.studies.runner import pool
from regard.studies.runner.folder import Job, StudyFolder
from regard.studies.runner.work import work
from regard.tasks import training

LR = "--training.optimiser.lr=0.002"  # without a search
TINY = ["--model.width=16", "--model.layers=1", "--data.length=16", "--training.batch_size=4", LR]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One run after the other, without the seconds to start a process and without a plot of each run's losses."""

    def run(folder: StudyFolder, pending: list[Job], processes: int, exact_match: bool, eta: bool) -> None:
        for job in pending:
            assert work(folder.path, job.key, exact_match=exact_match) == 0

    monkeypatch.setattr(pool, "_run", run)
    monkeypatch.setattr(training, "plot_losses", lambda run: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("to be, or not to be: that is the question.\n" * 30)
    return tmp_path
