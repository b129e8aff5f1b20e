"""Under torchrun the same command gives the losses of one process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from regard.run import read_metrics

OPTIONS = [
    "--training.batch=8", "--training.log_every=1", "--training.check_every=4", "--data.train=64",
    "--data.valid=9", "--data.test=4", "--model.width=16", "--model.layers=1", "--model.dropout=0",
]  # fmt: skip


def train(out: Path, ranks: int, *more: str, steps: int = 8) -> list[dict[str, float]]:
    launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    words = [sys.executable, *launch, "-m", "regard", "train", "dates", f"--out={out}", f"--steps={steps}", *OPTIONS]
    words += more
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return read_metrics(out)


@pytest.mark.parametrize("more", [("--model.feed=Experts",), ("--training.optimiser=Muon", "--training.accumulate=2")])
def test_two_ranks_reproduce_the_losses_of_one_process(more: tuple[str, ...], tmp_path: Path):
    one, two = train(tmp_path / "one", 1, more[0]), train(tmp_path / "two", 2, *more)
    assert len(one) == len(two) > 8
    for alone, shared in zip(one, two, strict=True):
        for name in ("loss", "valid"):
            if name in alone:
                assert alone[name] == pytest.approx(shared[name], abs=1e-5)
    assert json.loads((tmp_path / "two" / "metrics.jsonl").read_text().splitlines()[0])["step"] == 1


def test_a_run_of_two_ranks_goes_on_with_one(tmp_path: Path):
    steady = "--training.schedule=Constant"
    whole = train(tmp_path / "whole", 1, steady, steps=12)
    train(tmp_path / "run", 2, steady)
    resumed = train(tmp_path / "run", 1, "--resume", steps=12)
    losses = [[line["loss"] for line in lines if "loss" in line] for lines in (whole, resumed)]
    assert len(losses[0]) == 12
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
