"""A run that is stopped, killed or damaged goes on as if nothing had happened, or says in one line why it cannot."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.core.errors import ConfigError, UserError
from regard.models import GPT
from regard.parts import Learned
from regard.store import RunFolder, read_metrics
from regard.tasks import load_run
from regard.tasks.training import train
from regard.train.loop import Loop
from tests.command import regard
from tests.helpers import wait_until
from tests.train.tiny import tiny_plan, train_tiny, weights_of

STEPS = 120  # more than twenty short lives can take
LONG = {"steps": STEPS, "ema": 0.9, "eval_every": 20}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    train_tiny(out, **LONG)
    return out


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run that stays as it is: tests damage copies of it."""
    out = tmp_path_factory.mktemp("runs") / "ended"
    train_tiny(out)
    return out


@pytest.fixture
def run(ended: Path, tmp_path: Path) -> Path:
    """A tiny run that has ended."""
    return Path(shutil.copytree(ended, tmp_path / "run"))


def start_child(out: Path) -> int:
    """A process of its own that trains, or goes on training, in `out`."""
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            train_tiny(out, resume=True, **LONG)
            os._exit(0)
        except BaseException as error:
            print(f"child failed: {error!r}", flush=True)
            os._exit(1)
    return child


def steps_logged(out: Path) -> int:
    """How far a run has come, by its metrics; a line that is still being written does not count."""
    if not (out / "metrics.jsonl").exists():
        return 0
    lines = (out / "metrics.jsonl").read_text().splitlines(keepends=True)
    return max((json.loads(line)["step"] for line in lines[-3:] if line.endswith("\n")), default=0)


def ended_by_itself(child: int, kills: int) -> bool:
    if os.waitpid(child, os.WNOHANG)[0]:
        pytest.fail(f"the run ended by itself after {kills} kills")
    return False


def test_twenty_kills_at_random_moments_change_not_a_bit(unbroken: Path, tmp_path: Path):
    out, rng = tmp_path / "killed", random.Random(7)
    for kill in range(20):
        child = start_child(out)
        target = steps_logged(out) + rng.randrange(5)
        while steps_logged(out) < target and not ended_by_itself(child, kill):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.005))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert steps_logged(out) < STEPS, "every kill must hit a run that has steps left"
    code = os.waitpid(start_child(out), 0)[1]
    assert code == 0
    assert weights_of(out) == weights_of(unbroken)
    assert [line["step"] for line in read_metrics(out) if "loss" in line] == list(range(1, STEPS + 1))
    without_time = [
        [{k: v for k, v in line.items() if k not in ("seconds", "speed")} for line in read_metrics(run)]
        for run in (out, unbroken)
    ]
    assert without_time[0] == without_time[1]
    assert not list(out.glob("**/.*.part")), "half-written files are swept up"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_finishes_the_step_saves_and_exits_with_its_code(name: str, tmp_path: Path):
    out, number = tmp_path / "stopped", getattr(signal, name)
    options = {"batch_size": 8, "eval_every": 4, "log_every": 1, "ema": 0.9, "checkpoint_minutes": 10}
    words = ["train", "dates", "--out", str(out), "--steps", "100000"]
    words += [f"--training.{key}={value}" for key, value in options.items()]
    words += ["--data.train=40", "--data.valid=8", "--data.test=4", "--model.width=16", "--model.layers=1"]
    child = os.fork()
    if child == 0:
        sys.stderr = (tmp_path / "stderr").open("w")
        os._exit(regard(*words))
    wait_until(lambda: ended_by_itself(child, 0) or len(read_metrics(out)) > 3)
    os.kill(child, number)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + number
    output = (tmp_path / "stderr").read_text()
    saved = json.loads((RunFolder(out).checkpoints()[-1] / "progress.json").read_text())["step"]
    assert f"stopped and saved at step {saved:,}; continue with --resume" in output
    assert saved == max(line["step"] for line in read_metrics(out)), "the last finished step is the saved one"
    assert load_run(out).translate(["3 mai 2020"]), "and the weights can be used"


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(tmp_path: Path):
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        train_tiny(tmp_path / name, seed=seed)
    assert weights_of(tmp_path / "one") == weights_of(tmp_path / "two")
    assert weights_of(tmp_path / "one") != weights_of(tmp_path / "other")


def newest(out: Path) -> Path:
    return RunFolder(out).checkpoints()[-1]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flip_a_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, Path.unlink])
@pytest.mark.parametrize("name", ["weights.safetensors", "optimiser.safetensors", "progress.json"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_can_be_used(damage, name: str, run: Path):  # type: ignore[no-untyped-def]
    file = newest(run) / name
    damage(file)
    with pytest.raises(UserError, match=name) as caught:
        train_tiny(run, resume=True, steps=16)
    assert str(newest(run)) in str(caught.value)
    for child in newest(run).iterdir():
        child.unlink()
    newest(run).rmdir()  # what the message advises
    assert train_tiny(run, resume=True, steps=16).progress.step == 16


@pytest.mark.parametrize("damage", [truncate, flip_a_bit])
def test_damaged_weights_are_refused(damage, run: Path):  # type: ignore[no-untyped-def]
    damage(run / "model.safetensors")
    with pytest.raises(UserError, match=r"model\.safetensors.*damaged"):
        load_run(run)


def test_a_second_process_is_refused(tmp_path: Path):
    refusal = f"another process \\({os.getpid()}\\)"
    with RunFolder(tmp_path / "run").open(), pytest.raises(UserError, match=refusal):
        RunFolder(tmp_path / "run").open(resume=True)
    with RunFolder(tmp_path / "run").open(resume=True):
        pass


def test_a_run_is_not_overwritten_by_accident(run: Path, tmp_path: Path):
    before = weights_of(run)
    with pytest.raises(UserError, match="already holds a run"):
        train_tiny(run, seed=5)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(UserError, match=r"'thesis\.txt', which is not a run's"):
        train_tiny(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        train_tiny(tmp_path / "file")
    assert weights_of(run) == before


def test_a_full_disk_stops_with_one_line_and_leaves_the_last_checkpoint(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", disk], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        out = disk / "run"
        with pytest.raises(UserError, match=r"the disk is full .* bytes are free"):
            train_tiny(out, steps=100, keep_checkpoints=50)
        assert not list(out.glob("**/.*.part")), "no half-written file is left"
        assert RunFolder(out).load_checkpoint() is not None, "and what was saved before is whole"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_read_only_folder_is_an_error_before_training_starts(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", disk], capture_output=True).returncode:
        pytest.skip("mounting a read-only disk needs root")
    try:
        with pytest.raises(UserError, match=r"Read-only|not writable"):
            train_tiny(disk / "run")
    finally:
        subprocess.run(["umount", disk], check=True)


def test_only_a_run_is_ever_overwritten(tmp_path: Path):
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "config.yaml").write_text("a: 1")
    with pytest.raises(UserError, match="'src', which is not a run's"):
        train(tiny_plan(), project, overwrite=True)
    (project / "src").rmdir()
    with pytest.raises(UserError, match=r"'config\.yaml', which is not a run's"):
        train(tiny_plan(), project, overwrite=True)
    assert (project / "config.yaml").read_text() == "a: 1"


def test_a_plan_that_cannot_work_costs_nothing(run: Path):
    """Neither the run that it should replace, nor the settings of the run that it should go on with."""
    before = weights_of(run)
    with pytest.raises(ConfigError, match="does not read one text and write another"):
        train(replace(tiny_plan(), model=GPT()), run, overwrite=True)
    with pytest.raises(ConfigError, match="cannot be shared by 1 ranks"):
        train_tiny(run, resume=True, accumulation=99, steps=14)
    with pytest.raises(ConfigError, match="choose one"):
        train(tiny_plan(), run, resume=True, overwrite=True)
    with pytest.raises(ConfigError, match="the table of positions 2"):
        train(replace(tiny_plan(), model=replace(tiny_plan().model, position=Learned(2))), run, overwrite=True)
    assert weights_of(run) == before
    assert train_tiny(run, resume=True, steps=14).progress.step == 14


def test_a_folder_that_was_killed_before_its_config_can_be_used(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.yaml.99.part").write_text("half")
    assert train_tiny(tmp_path / "run", resume=True).progress.step == 12


def test_the_last_checkpoint_knows_of_the_last_check(run: Path):
    """Saved before it, it would take a worse loss for the best once the run goes on."""
    last = json.loads((RunFolder(run).checkpoints()[-1] / "progress.json").read_text())
    assert last["best"] == min(line["valid"] for line in read_metrics(run) if "valid" in line)


def test_a_run_killed_while_it_is_scored_is_scored_when_resumed(run: Path, notes: list[str]):
    card = (run / "card.md").read_text()
    (run / "card.md").unlink()
    train_tiny(run, resume=True)
    assert (run / "card.md").read_text() == card
    train_tiny(run, resume=True)
    assert notes[-1] == f"{run}: had already ended, at step 12"


def test_what_somebody_put_beside_a_run_does_not_keep_it_from_going_on(run: Path):
    (run / "curve.png").write_text("mine")
    assert train_tiny(run, resume=True, steps=14).progress.step == 14
    with pytest.raises(UserError, match="which is not a run's"):
        train(tiny_plan(), run, overwrite=True)
    assert (run / "curve.png").read_text() == "mine"


def test_a_resumed_text_keeps_its_tokenizer_and_what_it_measures_by(tmp_path: Path, capsys: pytest.CaptureFixture):
    """Also where its tokens were removed and the text has changed since: the weights know no other ids."""
    text, valid, out = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "run"
    text.write_text("to be or not to be " * 100)
    valid.write_text("not to be or to be " * 20)
    small = ["--model.width", 16, "--model.layers", 1, "--model.heads", 2, "--data.length", 8]
    assert regard("train", "lm", "--data", text, "--valid", valid, "--out", out, "--steps", 2, *small) == 0
    before = (out / "tokenizer.json").read_text()
    shutil.rmtree(out / "tokens")
    text.write_text("zebras or not to be " * 100)
    capsys.readouterr()
    assert regard("train", "lm", "--data", text, "--out", out, "--resume", "--steps", 4) == 0
    assert (out / "tokenizer.json").read_text() == before
    assert str(valid) in (out / "config.yaml").read_text()
    assert regard("train", "lm", "--data", valid, "--out", out, "--resume", "--steps", 5) == 0
    assert "a resumed run continues with its own data" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".lock", "metrics.jsonl"])
def test_nothing_is_written_through_a_link(name: str, run: Path, tmp_path: Path):
    (tmp_path / "victim").write_text("mine")
    (run / name).unlink()
    (run / name).symlink_to(tmp_path / "victim")
    with suppress(UserError):  # refused, or the link itself is replaced
        train_tiny(run, resume=True, steps=14)
    assert (tmp_path / "victim").read_text() == "mine"


def test_only_checkpoints_are_taken_for_checkpoints_and_removed(run: Path):
    shutil.copytree(newest(run), newest(run).with_name("step-000000099.bak"))
    train_tiny(run, resume=True, steps=14, keep_checkpoints=1)
    assert [path.name for path in RunFolder(run).checkpoints()] == ["step-000000014"]
    assert (run / "checkpoints" / "step-000000099.bak").exists()


def test_a_manifest_must_vouch_for_every_file(run: Path):
    (newest(run) / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match=r"weights\.safetensors: is damaged"):
        train_tiny(run, resume=True, steps=14)


def test_a_finished_run_is_left_as_it_is(run: Path):
    before = (run / "metrics.jsonl").read_bytes()
    assert train_tiny(run, resume=True).steps == 0
    assert (run / "metrics.jsonl").read_bytes() == before


def test_a_loss_that_is_not_finite_is_skipped_though_its_gradient_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    original = Loop._gradients

    def gradients(loop: Loop, batch):  # type: ignore[no-untyped-def]
        total, count = original(loop, batch)
        return (float("inf") if loop.progress.step in (2, 3) else total), count

    monkeypatch.setattr(Loop, "_gradients", gradients)
    assert train_tiny(tmp_path / "run").progress.skipped == 2
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)  # NaN and Infinity are no JSON


def test_a_validation_that_is_not_finite_is_replaced_by_one_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    losses = iter([float("nan"), 3.0, 4.0])
    monkeypatch.setattr("regard.train.loop.loss_and_error_rate", lambda *_: (next(losses), None))
    assert train_tiny(tmp_path / "run").progress.best_step == 8


class Poisoned:
    """Batches whose loss is not a number at some steps."""

    def __init__(self, bad: range):
        self.bad, self.step = bad, 0

    def __call__(self, original):  # type: ignore[no-untyped-def]
        def gradients(loop: Loop, batch):  # type: ignore[no-untyped-def]
            total, count = original(loop, batch)
            if loop.progress.step in self.bad:
                next(loop.model.parameters()).grad[0, 0] = float("nan")
                return float("nan"), count
            return total, count

        return gradients


def test_steps_without_a_finite_gradient_are_skipped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Loop, "_gradients", Poisoned(range(3, 6))(Loop._gradients))
    report = train_tiny(tmp_path / "run")
    assert report.progress.skipped == 3
    assert all(torch.isfinite(p).all() for p in load_run(tmp_path / "run").model.parameters())


def test_ten_bad_steps_in_a_row_stop_the_run_and_leave_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Loop, "_gradients", Poisoned(range(5, 99))(Loop._gradients))
    with pytest.raises(UserError, match="not finite in 10 steps in a row"):
        train_tiny(tmp_path / "run", steps=60)
    checkpoint = RunFolder(tmp_path / "run").load_checkpoint()
    assert checkpoint is not None
    assert all(torch.isfinite(weight).all() for weight in checkpoint.weights.values())


def test_a_resumed_run_keeps_its_settings_and_refuses_others(run: Path, capsys: pytest.CaptureFixture):
    resume = ["train", "dates", "--out", run, "--resume"]
    capsys.readouterr()
    assert regard(*resume, "--model.layers", "3") == 2
    refused = capsys.readouterr().err
    assert "model.layers: a resumed run cannot change it" in refused
    assert refused.count("\n") == 1
    assert regard(*resume, "--steps", "15") == 0
    assert json.loads((newest(run) / "progress.json").read_text())["step"] == 15
    assert tiny_plan().model.width == 16  # the folder's own width, not the recipe's, was kept:
    assert load_run(run).config.width == 16  # type: ignore[union-attr]
