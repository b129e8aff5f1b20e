"""Studies from the command line to the report, on files so small that they take seconds."""

import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import matplotlib
import pytest

from regard.data.text.pair_files import PairFiles
from regard.store import read_metrics
from regard.studies.ablate.base import base_plan
from regard.studies.distance.costs import Cost
from regard.studies.distance.recall import Recall, _plan
from regard.studies.runner import pool
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.plots import draw_lines
from regard.studies.runner.timing import one_thread
from regard.studies.scale.flops import count_parameters, training_flops
from regard.studies.scale.scaling import Scaling, _base, _sized
from regard.train import AdamW
from tests.command import regard
from tests.images.make import write_classes

RATE = "--training.optimiser.lr=0.002"  # is not sought where it is given
TINY = ["--model.width=16", "--model.layers=1", "--data.length=16", "--training.batch_size=4", RATE]


def ablate(*words: object) -> int:
    return regard("study", "ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 4, *words, *TINY)


def test_an_ablation_reports_every_change_with_its_noise(here: Path):
    assert ablate("--seeds", 2, "--only", "no-norm", "linformer", "window") == 0
    told = (here / "s" / "report.md").read_text()
    for name in ("no-norm", "window"):
        assert f"| {name} |" in told
    assert "Linformer cannot hide the future" in told, "what cannot be changed says why"
    assert len(list((here / "s" / "runs").iterdir())) == 2 * 2 + 4
    page = (here / "s" / "report.html").read_text()
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", ""), "it needs nothing from elsewhere"
    assert regard("show", "s/runs/no-norm-0") == 0, "runs are runs"


@pytest.mark.parametrize(
    ("study", "told"),
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
def test_what_a_study_will_cost_is_told_before_its_first_run(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, study: list[object], told: str
):
    def no_time(*_: object) -> None:
        raise pool.UserError("here the first run would begin")

    monkeypatch.setattr(pool, "_run", no_time)
    verb, *words = study
    assert regard("study", verb, *words, "--out", "s", "--processes", 2) == 1
    *before, last = capsys.readouterr().err.strip().splitlines()
    assert "the first run would begin" in last
    [line] = [line for line in before if " runs of about " in line]
    assert re.fullmatch(rf"{told} of about [1-9]\d* s on 2 cores: about \d+:\d\d", line)
    assert any(line.startswith("then the predicted run") for line in before) == (verb == "scale")


def test_the_same_command_makes_nothing_anew_and_another_is_refused(here: Path, capsys: pytest.CaptureFixture[str]):
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
    told = (here / "s" / "report.md").read_text()
    assert "diverges" in told
    assert "no finite loss" in told


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


def test_a_table_is_taken_apart_too(here: Path):
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


def test_a_scaling_study_predicts_before_it_checks(here: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--data", "text.txt", "--out", "s", "--steps", 16, "--sizes", "4x1", "8x1", "16x1", "16x2"]
    settings = ["--data.length=16", "--training.batch_size=4", "--training.optimiser.lr=1e-3", "--model.dropout=0.2"]
    assert regard("study", "scale", *words, *settings, "--for-budget", "1e15") == 0
    printed = capsys.readouterr().err
    budgets = [float(flops) for flops in re.findall(r"best size for (\S+) FLOPs: [\d,]+ \(.*\) parameters", printed)]
    prediction, last = (here / "s" / "prediction.json"), (here / "s" / "outcomes" / "16x2@16-0.json")
    assert prediction.stat().st_mtime_ns < last.stat().st_mtime_ns
    assert set(json.loads(prediction.read_text())["loss"]) == {"value", "low", "high"}
    told = (here / "s" / "report.md").read_text()
    plans = [StudyFolder(here / "s").plan(f"{size}@16-0") for size in ("16x2", "4x1", "8x1", "16x1")]
    assert "inside that interval" in told or "outside that interval" in told
    most, embeddings = (
        max(training_flops(p.model, 16, 16 * 4 * 16) for p in plans[1:]),
        count_parameters(plans[0].model),
    )
    assert budgets == [pytest.approx(flops, rel=0.01) for flops in (most, 10 * most, 100 * most, 1e15)]
    assert f"| 16x2@16-0 (predicted) | {embeddings.rest:,} | {embeddings.embedding:,} | 1,024 |" in told
    assert json.loads(prediction.read_text())["embedding"] == embeddings.embedding
    assert len(list((here / "s" / "outcomes").iterdir())) == 3 * 4 + 1
    plan = plans[0]
    assert plan.training.optimiser == AdamW(lr=2.5e-4), "a quarter of the 1e-3 of a width of 4"
    assert plan.model.dropout == 0.2


def test_scaling_has_a_rate_and_no_dropout_of_its_own(here: Path):
    plans = _sized(_base(Scaling(("text.txt",))), ("64x3", "256x6"))
    assert plans["64x3"].training.optimiser == AdamW(lr=2e-3)
    assert plans["256x6"].training.optimiser == AdamW(lr=5e-4), "a quarter for four times the width"
    assert plans["256x6"].model.dropout == 0.0


def test_the_rate_is_found_before_anything_is_compared(here: Path, capsys: pytest.CaptureFixture[str]):
    words = ["--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 20, "--seeds", 1, "--only", "no-norm"]
    assert regard("study", "ablate", *words, *TINY[:-1]) == 0
    told = re.search(r"^learning rate (\S+), interpolated from (\d+) runs", capsys.readouterr().err, re.MULTILINE)
    assert told is not None
    folder = StudyFolder(here / "s")
    tried = {path.stem: folder.outcome(path.stem) for path in (here / "s" / "outcomes").glob("lr-*.json")}
    assert len(tried) == int(told[2])
    report = (here / "s" / "report.md").read_text()
    assert f"**{told[1]}**" in report
    for key, outcome in tried.items():
        assert outcome is not None
        assert f"| {key.split('-', 1)[1].removesuffix('-99')} | {outcome.loss:.4f} |" in report
    for key in ("base-0", "base-2", "no-norm-0"):
        assert folder.plan(key).training.optimiser.lr == pytest.approx(float(told[1]), rel=0.01)


def test_a_study_of_distance_asks_every_model_at_every_distance(here: Path):
    words = ["--out", "s", "--distances", 1, 2, "--lengths", 32, "--steps", 2, "--seeds", 1]
    assert regard("study", "distance", *words) == 0
    told = (here / "s" / "report.md").read_text()
    assert "| transformer |" in told
    assert "| RNN | 32 |" in told


def test_texts_to_recall_are_those_of_the_steps(tmp_path: Path):
    """A study that was stopped before its first run may be asked for other steps in the same folder."""
    for steps in (2, 3):
        data = _plan(Recall(steps=steps), tmp_path, "rnn", 4, 0).data
        assert isinstance(data, PairFiles)
        assert len(Path(data.train[0]).read_text().splitlines()) == 32 * steps


def test_heads_of_a_run_with_trees(here: Path, capsys: pytest.CaptureFixture[str]):
    tiny = ["--steps", 3, "--training.batch_size=4", "--model.width=16", "--model.heads=2", "--model.layers=1"]
    assert regard("train", "lm", "--data", "text.txt", "--out", "lm", "--data.length=16", *tiny) == 0
    rows = ["1\tto\t_\tX\t_\t_\t2\tdep\t_\t_", "2\tbe\t_\tX\t_\t_\t0\troot\t_\t_", "3\tor\t_\tX\t_\t_\t2\tdep\t_\t_"]
    (here / "t.conllu").write_text(("\n".join(rows) + "\n\n") * 2)
    assert regard("study", "heads", "lm", "--out", "s", "--trees", "t.conllu", "--batches", 1) == 0
    assert re.search(r"masking 2 heads one by one: about 0:0\d\n", capsys.readouterr().err)
    [found] = json.loads((here / "s" / "heads.json").read_text())
    assert len(found["heads"]) == 2
    [every] = found["relations"]
    assert (every["relation"], every["words"]) == ("all", 1), "only the word whose syntactic head is before it counts"
    assert (every["offset"], every["offset_accuracy"]) == (-1, 1.0)
    assert "delimiter" in (here / "s" / "report.md").read_text()
    before = (here / "s" / "report.md").read_bytes()
    assert regard("study", "heads", "lm", "--out", "s", "--batches", 1) == 1, "that is another question"
    assert "holds a study with trees ['t.conllu'], not []" in capsys.readouterr().err
    assert regard("study", "ablate", "--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 4) == 1
    assert "s: holds a study of another kind" in capsys.readouterr().err
    assert (here / "s" / "report.md").read_bytes() == before


def test_a_folder_that_is_taken_is_refused_before_heads_are_measured(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.studies.heads.study.load_subject", lambda *_: pytest.fail("measured"))
    (here / "s").write_text("mine")
    assert regard("study", "heads", "lm", "--out", "s") == 1


@pytest.mark.parametrize("task", ["fill", "summarise", "image"])
def test_heads_of_every_kind_of_run(here: Path, task: str):
    tiny = ["--steps", 2, "--training.batch_size=4", "--model.width=16", "--model.heads=2", "--model.layers=1"]
    (here / "pairs.tsv").write_text("the cat sat on the mat\tthe cat sat\n" * 9)
    if task == "image":
        write_classes(here / "photos", 6)
    files = {
        "fill": ["--data", "text.txt", "--data.length=16"],
        "summarise": ["--train", "pairs.tsv", "--valid", "pairs.tsv", "--data.tokenizer.vocab=300"],
        "image": ["--train", "photos", "--valid", "photos"],
    }
    assert regard("train", task, *files[task], "--out", "run", *tiny) == 0
    assert regard("study", "heads", "run", "--out", "s", "--batches", 99) == 0
    [found] = json.loads((here / "s" / "heads.json").read_text())
    assert found["loss"] == pytest.approx(min(line["valid"] for line in read_metrics(here / "run") if "valid" in line))
    assert len(found["heads"]) >= 2
    if task != "image":
        assert any(head["shares"] for head in found["heads"])


@pytest.mark.parametrize(
    ("words", "told"),
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
        (["heads", "nowhere", "--out", "s"], "there is no such run folder"),
    ],
)
def test_bad_input_is_one_line(here: Path, capsys: pytest.CaptureFixture[str], words: list[object], told: str):
    assert regard("study", *words) in (1, 2)
    err = capsys.readouterr().err
    assert told in err
    assert len(err.strip().splitlines()) == 1


def test_somebody_elses_folder_stays_as_it_is(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "s").mkdir()
    (here / "s" / "thesis.tex").write_text("mine")
    assert ablate() == 1
    assert "thesis.tex" in capsys.readouterr().err
    assert [path.name for path in (here / "s").iterdir()] == ["thesis.tex"]


def test_a_run_that_fails_is_named_with_what_it_said(tmp_path: Path):
    folder = StudyFolder(tmp_path / "s").open({})
    folder.log("base-0").parent.mkdir()
    folder.log("base-0").write_text("training\nregard: the disk is full\n")
    with pytest.raises(pool.UserError, match=r"run base-0 failed \(1\): the disk is full"):
        pool._check(folder, "base-0", 1)
    folder.write_outcome("base-0", Outcome(2.0, 4, 1.0))
    pool._check(folder, "base-0", 0)
    assert folder.outcome("base-0") == Outcome(2.0, 4, 1.0)


def test_a_run_that_was_just_started_hears_once_that_the_study_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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


def test_a_plot_leaves_the_backend_of_a_notebook_as_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(matplotlib, "use", lambda *_: pytest.fail("it was chosen already"))
    assert draw_lines({"a": [(1.0, 2.0), (2.0, 3.0)]}, "x", "y").count("<svg") == 1


KILLED = """
import os, signal, sys
from regard.cli import main
from regard.studies.runner import pool

pool._line = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # where the first run has ended
main(sys.argv[1:])
"""


@pytest.mark.timeout(280)
def test_a_study_that_is_killed_resumes_to_the_same_report(here: Path, monkeypatch: pytest.MonkeyPatch):
    """Real processes, killed when one run has ended and another is under way; then the same command again."""
    words = ["study", "ablate", "--task", "lm", "--data", "../text.txt", "--out", "s", "--steps", "20", "--seeds", "1"]
    words += ["--only", "no-norm", "--processes", "2", "--training.checkpoint-minutes=0.001", *TINY]
    whole, killed = here / "whole", here / "killed"
    whole.mkdir()
    killed.mkdir()
    monkeypatch.chdir(whole)
    assert regard(*words) == 0
    command = [sys.executable, "-c", KILLED, *words]
    study = subprocess.run(command, cwd=killed, stderr=subprocess.DEVNULL, check=False)
    assert study.returncode == -signal.SIGKILL
    assert 1 <= len(list(killed.glob("s/outcomes/*.json"))) < 4, "it was in the middle"
    for lock in killed.glob("s/runs/*/.lock"):
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # waits until a run that was left behind has noticed and ended
    monkeypatch.chdir(killed)
    assert regard(*words) == 0
    assert (killed / "s" / "report.md").read_text() == (whole / "s" / "report.md").read_text()
    assert (killed / "s" / "report.html").read_bytes() == (whole / "s" / "report.html").read_bytes()


@pytest.mark.parametrize(
    "study",
    [
        ["scale", "--data", "../text.txt", "--steps", 8, "--sizes", "4x1", "4x2", "8x1", "16x1", *TINY[2:4]],
        ["distance", "--distances", 1, 2, "--lengths", 16, "--steps", 2, "--seeds", 1],
    ],
    ids=["scale", "distance"],
)
def test_laws_and_distances_go_on_to_the_same_report_too(
    here: Path, monkeypatch: pytest.MonkeyPatch, study: list[object]
):
    """A copy of this process makes the study and is killed when its third run was made but has no outcome yet."""
    monkeypatch.setattr("regard.studies.distance.recall.measure_costs", lambda lengths: [Cost("RNN", 16, 1.0, 2.0, 16)])
    words = ["study", *study, "--out", "s"]
    whole, killed = here / "whole", here / "killed"
    whole.mkdir()
    killed.mkdir()
    monkeypatch.chdir(whole)
    assert regard(*words) == 0
    monkeypatch.chdir(killed)
    with one_thread():  # the threads of a process are not copied with it
        copy = os.fork()
        if not copy:
            _die_at_the_third_outcome(words)
        assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == -signal.SIGKILL
    assert len(list(killed.glob("s/outcomes/*.json"))) == 2
    assert not (killed / "s" / "report.md").exists()
    assert regard(*words) == 0
    for name in ("report.md", "report.html"):
        assert (killed / "s" / name).read_bytes() == (whole / "s" / name).read_bytes()


def _die_at_the_third_outcome(words: list[object]) -> None:
    write_outcome = StudyFolder.write_outcome

    def end(folder: StudyFolder, key: str, outcome: Outcome) -> None:
        if len(list(folder.path.glob("outcomes/*.json"))) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        write_outcome(folder, key, outcome)

    StudyFolder.write_outcome = end  # type: ignore[method-assign]
    try:
        regard(*words)
    finally:
        os._exit(1)  # it should be dead
