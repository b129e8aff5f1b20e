"""The machine: threads, precision, devices, repeatable random numbers, and the command that is running."""

import functools
import hashlib
import itertools
import os
import shlex
import shutil
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

from regard.core.system import end_at_once

if TYPE_CHECKING:
    from torch import nn

COMMAND: ContextVar[tuple[str, ...] | None] = ContextVar("COMMAND", default=None)  # arguments of the running `regard`


def choose_wait_policy() -> None:
    """Let OpenMP threads that wait at a barrier sleep after some microseconds; must run before torch is imported.

    With one busy neighbour a training step was four times slower when threads spin until they are needed. Where they
    sleep at once, a step that writes one token, with its many short barriers, is four times slower on an idle machine.
    The user's own settings win.
    """
    if os.environ.setdefault("OMP_WAIT_POLICY", "passive").lower() == "passive":
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def usable_cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes of memory that could be used now without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def has_fast_bfloat16(device: str = "cpu") -> bool:
    """Whether matrix products in bfloat16 are faster than in float32 on this device."""
    import torch

    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported())
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


@functools.cache
def mkl_is_slow() -> bool:
    """Whether torch multiplies in float32 faster with oneDNN than with MKL, which is made for Intel's processors."""
    import torch

    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        return False
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return any("AuthenticAMD" in line for line in itertools.islice(file, 8))
    except OSError:
        return False


def compiler() -> str | None:
    """The C++ compiler that torch.compile would call, where there is one."""
    usual = "clang++" if sys.platform == "darwin" else "g++"
    return shutil.which(os.environ.get("CXX") or usual)


def best_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def device_of(model: "nn.Module") -> str:
    """The device of a model's weights."""
    first = next(model.parameters(), None)
    return "cpu" if first is None else str(first.device)


def command_line() -> str:
    """What is running, as a person would type it: `regard …`, a Python script, or Python itself."""
    words = COMMAND.get()
    if words is not None:
        return shlex.join(["regard", *words])
    script = sys.argv[0] if sys.argv else ""
    return shlex.join(["python", *sys.argv]) if script.endswith(".py") else "python"


def seed_for(*words: object) -> int:
    """A seed that depends on all of `words` and on nothing else, the same on every machine."""
    digest = hashlib.sha256(":".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def end_with_parent() -> None:
    """End at once when whoever holds the other end of standard input is gone: nobody waits for us any more."""

    def wait() -> None:
        while os.read(0, 64):
            pass
        end_at_once()

    threading.Thread(target=wait, daemon=True).start()
