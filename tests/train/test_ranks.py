"""Several ranks, started by torchrun or by the command itself, give the losses of one process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from regard.store import read_metrics
from regard.train.processes import _free_port
from tests.command import regard
from tests.helpers import patience, wait_until

OPTIONS = [
    "--training.batch_size=8", "--training.log_every=1", "--training.eval_every=4", "--data.train=64",
    "--data.valid=9", "--data.test=4", "--model.width=16", "--model.layers=1", "--model.dropout=0",
]  # fmt: skip


def under_torchrun(ranks: int, *words: object) -> subprocess.CompletedProcess[str]:
    """`regard train dates` under torchrun; nothing of it outlives the test."""
    launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [sys.executable, *launch, "-m", "regard", "train", "dates", *map(str, words)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=patience(120))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def train(out: Path, ranks: int, *more: str, steps: int = 8) -> list[dict[str, float]]:
    """What is logged by one process, which is this one, or by ranks, which are copies of it."""
    words = ["train", "dates", f"--out={out}", f"--steps={steps}", *OPTIONS, *more]
    if ranks == 1:
        assert regard(*words) == 0
    else:
        on_ranks(ranks, words)
    return read_metrics(out)


def on_ranks(ranks: int, words: Sequence[object]) -> None:
    """Run a command on ranks that are copies of this process, which has imported everything."""
    port = _free_port()
    children = [fork_rank(rank, ranks, port, words) for rank in range(ranks)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * ranks


def fork_rank(rank: int, world: int, port: int, words: Sequence[object]) -> int:
    child = os.fork()
    if child == 0:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": world, "RANK": rank, "LOCAL_RANK": rank}
        os.environ.update({name: str(value) for name, value in place.items()})
        try:
            os._exit(regard(*words))
        except BaseException as error:
            os.write(2, f"rank {rank}: {error!r}\n".encode())
            os._exit(1)
    return child


# Muon squares its gradient five times in bfloat16, so only small steps keep what is lost there out of the losses.
@pytest.mark.parametrize(
    "more",
    [("--model.feed=Experts",), ("--training.optimiser={kind: Muon, lr: 0.0002}", "--training.accumulation=2")],
)
def test_two_ranks_reproduce_the_losses_of_one_process(more: tuple[str, ...], tmp_path: Path):
    one, two = train(tmp_path / "one", 1, more[0]), train(tmp_path / "two", 2, *more)
    assert len(one) == len(two) > 8
    for alone, shared in zip(one, two, strict=True):
        for name in ("loss", "valid"):
            if name in alone:
                assert alone[name] == pytest.approx(shared[name], abs=1e-5)
        assert ("sample" in shared) == ("valid" in shared)  # and by one of them alone
    assert json.loads((tmp_path / "two" / "metrics.jsonl").read_text().splitlines()[0])["step"] == 1


def test_a_run_of_two_ranks_goes_on_with_one(tmp_path: Path):
    steady = "--training.schedule=Constant"
    whole = train(tmp_path / "whole", 1, steady, steps=12)
    train(tmp_path / "run", 2, steady)
    resumed = train(tmp_path / "run", 1, "--resume", steps=12)
    losses = [[line["loss"] for line in lines if "loss" in line] for lines in (whole, resumed)]
    assert len(losses[0]) == 12
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_ranks_agree_about_when_to_save(tmp_path: Path):
    """Each would save at another step by its own clock, and the ranks would wait for each other for ever."""
    train(tmp_path / "run", 2, "--training.checkpoint_minutes=0.0005", steps=150)


def test_a_failure_at_the_start_is_one_line_from_one_rank(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("")
    done = under_torchrun(2, "--out", tmp_path / "run", "--steps=2", *OPTIONS)
    assert done.returncode != 0
    assert [line for line in done.stderr.splitlines() if line.startswith("regard:")] == [
        f"regard: {tmp_path / 'run'}: holds 'mine.txt', which is not a run's; choose an empty or new folder"
    ]


def test_the_command_starts_its_own_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = train(tmp_path / "one", 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert regard("train", "dates", f"--out={tmp_path / 'two'}", "--steps=8", "--processes=2", *OPTIONS) == 0
    two = read_metrics(tmp_path / "two")
    assert [line["loss"] for line in one if "loss" in line] == pytest.approx(
        [line["loss"] for line in two if "loss" in line], abs=1e-5
    )


def test_what_one_of_its_ranks_says_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("")
    assert regard("train", "dates", "--out", tmp_path / "run", "--steps=2", "--processes=2", *OPTIONS) == 1
    assert capfd.readouterr().err.splitlines() == [
        f"regard: {tmp_path / 'run'}: holds 'mine.txt', which is not a run's; choose an empty or new folder"
    ]


@pytest.mark.parametrize("count", ["0", "100000"])
def test_more_processes_than_cores_are_refused(count: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert regard("train", "dates", "--out", tmp_path / "run", "--steps=2", f"--processes={count}", *OPTIONS) == 2
    assert "processes" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_its_ranks_save_when_it_is_asked_to_stop_and_end_with_it(tmp_path: Path):
    """The signal of a terminal reaches the command alone; it must reach every rank, and only once."""
    words = ["train", "dates", f"--out={tmp_path / 'run'}", "--steps=100000", "--processes=2", *OPTIONS]
    with subprocess.Popen([sys.executable, "-m", "regard", *words], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: (tmp_path / "run" / "metrics.jsonl").exists(), process)
            process.send_signal(signal.SIGINT)
            assert process.wait(patience(60)) == 128 + signal.SIGINT
        finally:
            process.kill()
    checkpoints = list((tmp_path / "run" / "checkpoints").glob("step-*"))
    assert len(checkpoints) == 1
    assert (tmp_path / "run" / "model.safetensors").exists()
