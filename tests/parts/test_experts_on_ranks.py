"""Experts on two ranks with different numbers of forward passes: no rank waits, and their biases stay equal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.helpers import patience

PROGRAM = """
import torch
import torch.distributed as dist
from regard.core.modules import after_step
from regard.parts import Experts
from regard.train.ranks import join_ranks

with join_ranks() as ranks:
    torch.manual_seed(0)
    experts = Experts(count=4, active=1).build(8).train()
    torch.manual_seed(1 + ranks.rank)
    for step in range(3):
        for _ in range(1 + 2 * ranks.rank):
            experts(torch.randn(50, 8))
        after_step(experts, ranks.sum)
    biases = [torch.zeros(4) for _ in range(2)]
    dist.all_gather(biases, experts.router_bias)
    assert biases[0].any() and torch.equal(*biases), biases
"""


def test_unequal_numbers_of_forward_passes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(program)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            _, errors = process.communicate(timeout=patience(60))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, errors
