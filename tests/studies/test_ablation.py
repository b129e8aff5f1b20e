"""Ablations from the command line to the report."""

import json
import random
import re
from pathlib import Path

import pytest

from regard.studies.runner import learning_rate
from regard.studies.runner.folder import StudyFolder
from tests.command import regard
from tests.images.make import write_classes
from tests.studies.conftest import LR, TINY


def ablate(*words: object) -> int:
    return regard("study", "ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 4, *words, *TINY)


def test_an_ablation_reports_every_change_with_its_noise(here: Path):
    assert ablate("--seeds", 2, "--only", "no-norm", "linformer", "window") == 0
    report = (here / "s" / "report.md").read_text()
    for name in ("no-norm", "window"):
        assert f"| {name} |" in report
    assert "Linformer cannot hide the future" in report, "what was left out has a reason"
    assert len(list((here / "s" / "runs").iterdir())) == 2 * 2 + 4
    page = (here / "s" / "report.html").read_text()
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", ""), "the page is self-contained"
    assert regard("show", "s/runs/no-norm-0") == 0, "a run of a study is a run"


def test_the_same_command_repeats_no_run_and_another_is_refused(here: Path, capsys: pytest.CaptureFixture[str]):
    assert ablate("--seeds", 1, "--only", "no-norm") == 0
    first = (here / "s" / "report.md").read_bytes()
    stamps = {path: path.stat().st_mtime_ns for path in here.glob("s/runs/*/model.safetensors")}
    assert ablate("--seeds", 1, "--only", "no-norm") == 0
    assert (here / "s" / "report.md").read_bytes() == first
    assert {path: path.stat().st_mtime_ns for path in here.glob("s/runs/*/model.safetensors")} == stamps
    capsys.readouterr()
    assert ablate("--seeds", 2, "--only", "no-norm") == 1
    assert "holds a study with seeds 1, not 2" in capsys.readouterr().err


def test_divergence_is_a_result(here: Path):
    assert ablate("--seeds", 1, "--only", "no-norm", "window") == 0
    for path in (here / "s" / "outcomes").glob("no-norm-*.json"):
        path.write_text(json.dumps({"loss": None, "steps": 3, "seconds": 1.0, "diverged": "no finite loss"}))
    assert ablate("--seeds", 1, "--only", "no-norm", "window") == 0
    report = (here / "s" / "report.md").read_text()
    assert "diverges" in report
    assert "no finite loss" in report


def test_a_run_without_finite_steps_ends_as_diverged(here: Path):
    """A rate beyond all reason, through the real loop."""
    words = ["--steps", 40, "--training.grad_clip=null", "--training.schedule=Constant"]
    base = ["study", "ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--seeds", 1, "--only", "no-norm"]
    assert regard(*base, *words, *TINY[:-1], "--training.optimiser.lr=1e30") == 1, (
        "the base itself diverges, and nothing can be compared"
    )
    outcome = StudyFolder(here / "s").outcome("base-0")
    assert outcome is not None
    assert outcome.loss is None
    assert outcome.diverged


def test_an_ablation_of_a_table(here: Path):
    rng = random.Random(0)
    rows = [(rng.random(), rng.choice("ab")) for _ in range(40)]
    (here / "t.csv").write_text("x,kind,y\n" + "".join(f"{x:.3f},{k},{2 * x:.3f}\n" for x, k in rows))
    words = ["--target", "y", "--only", "rows-only", "columns-only", "--seeds", 1, "--steps", 3]
    sizes = ["--model.width=8", "--model.layers=1", "--model.heads=2"]
    assert regard("study", "ablate", "--task", "table", "--data", "t.csv", "--out", "s", *words, *sizes) == 0
    assert "| columns-only |" in (here / "s" / "report.md").read_text()
    assert regard("study", "heads", "s/runs/base-0", "s/runs/columns-only-0", "--out", "h") == 0
    base, columns = json.loads((here / "h" / "heads.json").read_text())
    assert [head["shares"].keys() for head in base["heads"][:2]] == [{"its duplicate", "itself"}] * 2
    assert not any(head["shares"] for head in columns["heads"]), "where no row sees another"


def test_the_learning_rate_is_searched_first(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(learning_rate, "MAX_FACTOR", 8.0)  # losses of so few steps fall without end
    words = ["--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 8, "--seeds", 1, "--only", "no-norm"]
    assert regard("study", "ablate", *words, *TINY[:-1]) == 0
    match = re.search(r"^learning rate (\S+), interpolated from (\d+) runs", capsys.readouterr().err, re.MULTILINE)
    assert match is not None
    folder = StudyFolder(here / "s")
    tried = {path.stem: folder.outcome(path.stem) for path in (here / "s" / "outcomes").glob("lr-*.json")}
    assert len(tried) == int(match[2])
    report = (here / "s" / "report.md").read_text()
    assert f"**{match[1]}**" in report
    for key, outcome in tried.items():
        assert outcome is not None
        assert f"| {key.split('-', 1)[1].removesuffix('-99')} | {outcome.loss:.4f} |" in report
    for key in ("base-0", "base-2", "no-norm-0"):
        assert folder.plan(key).training.optimiser.lr == pytest.approx(float(match[1]), rel=0.01)


def test_a_folder_with_other_files_is_left_alone(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "s").mkdir()
    (here / "s" / "thesis.tex").write_text("mine")
    assert ablate() == 1
    assert "thesis.tex" in capsys.readouterr().err
    assert [path.name for path in (here / "s").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("task", ["fill", "translate", "summarise", "classify", "image"])
def test_an_ablation_of_every_task(here: Path, task: str):
    (here / "pairs.tsv").write_text("the cat sat on the mat\tthe cat sat\n" * 9)
    (here / "labels.tsv").write_text("good\tthe cat sat\nbad\tthe dog ran away\n" * 9)
    if task == "image":
        write_classes(here / "photos", 6)
    files = {"fill": "text.txt", "classify": "labels.tsv", "image": "photos"}.get(task, "pairs.tsv")
    words = ["--task", task, "--data", files, "--valid", files, "--out", "s", "--steps", 2, "--seeds", 1]
    tiny = ["--only", "no-norm", "--model.width=16", "--model.layers=1", "--training.batch_size=4", LR]
    assert regard("study", "ablate", *words, *tiny) == 0
    assert "| no-norm |" in (here / "s" / "report.md").read_text()
