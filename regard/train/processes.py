"""Several ranks on this machine, started by the command itself: `torchrun` without having to know of it.

On a processor, two processes of one thread compute small layers nearly twice as fast as one process of two threads,
which must meet at the end of every operation; processes meet once a step.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from regard.core.errors import ConfigError, at_least
from regard.core.machine import usable_cores

PATIENCE = 30.0  # seconds that other ranks get to end by themselves once one has failed


def is_rank() -> bool:
    """Whether somebody has started this process as one of several."""
    return "WORLD_SIZE" in os.environ


def run_as_ranks(processes: int, words: Sequence[str]) -> int:
    """Run `regard` with these words in as many processes; gives their exit code."""
    at_least(1, processes=processes)
    cores = usable_cores()
    if processes > cores:
        raise ConfigError(f"--processes {processes}: this machine has {cores} cores; more processes only wait")
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "WORLD_SIZE": str(processes)}
    threads = {"OMP_NUM_THREADS": str(cores // processes)} if "OMP_NUM_THREADS" not in os.environ else {}
    command = [sys.executable, "-m", "regard", *words]
    ranks: list[subprocess.Popen[bytes]] = []
    with _signals_go_to(ranks):
        for rank in range(processes):
            rank_variables = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            env = {**os.environ, **place, **threads, **rank_variables}
            # In a group of its own a rank hears Ctrl-C once, from here; a second would end it before it saves.
            ranks.append(subprocess.Popen(command, env=env, process_group=0, preexec_fn=_die_with_parent))
        return _wait(ranks)


def _wait(ranks: Sequence[subprocess.Popen[bytes]]) -> int:
    """The exit code of the first rank that fails, or 0; none is left running."""
    try:
        while True:
            codes = [rank.poll() for rank in ranks]
            failed = next((code for code in codes if code), None)
            if failed is not None or None not in codes:
                break
            time.sleep(0.05)
        deadline = time.monotonic() + PATIENCE
        for rank in ranks:
            rank.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    finally:
        for rank in ranks:
            if rank.poll() is None:
                rank.kill()
                rank.wait()
    return 0 if failed is None else failed if failed > 0 else 128 - failed


@contextmanager
def _signals_go_to(ranks: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Whoever asks this process to stop asks its ranks, which save before they end."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        for rank in ranks:
            if rank.poll() is None:
                rank.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _die_with_parent() -> None:
    """Where the system can, ranks end with a parent that was killed and cannot tell them."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
