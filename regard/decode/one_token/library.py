"""Compiled steps that outlive the process: a file for each shape of a block, precision, form and machine.

A file is a shared library, made by this user on this machine for exactly this version of torch; where anything of
that differs, it has another name.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path
from typing import Any

import torch

from regard.core.config import to_dict
from regard.core.files import write_text
from regard.core.machine import compiler
from regard.core.system import only_mine
from regard.core.version import VERSION
from regard.decode.one_token.weights import Texts
from regard.models.gpt import LeftToRight

STALE_AFTER = 600.0  # seconds: a process that has not said anything by then has been killed
OUTPUT = ".log"  # ends the name of the file that a process writes to while it compiles a step
FAILED = ".failed"  # ends the name of the file in which it says why it could not
VARIABLE = "REGARD_CACHE"  # a folder; `off`: nothing is compiled for decoding
NOT_OF_A_BLOCK = ("layers", "vocab", "dropout", "init", "tied", "embed_scale", "logit_scale", "logit_bias", "bigram")


def folder() -> Path | None:
    """Where compiled steps are kept; None where they should not be."""
    named = os.environ.get(VARIABLE)
    if named == "off":
        return None
    general = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return (Path(named).expanduser() if named else general / "regard") / "steps"


def path_of(config: LeftToRight, kind: int, precision: str, texts: Texts, steps: Path) -> Path:
    settings = {name: value for name, value in to_dict(config).items() if name not in NOT_OF_A_BLOCK}
    threads = torch.get_num_threads()
    words = [settings, kind, precision, texts, VERSION, torch.__version__, threads, _processor()]
    digest = hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()
    return steps / f"{digest[:32]}.pt2"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    known = [line for line in lines if line.startswith(("model name", "flags"))][:2]
    return " ".join([platform.machine(), platform.processor(), *known])


def load(path: Path) -> Any | None:
    """A file that others could have written is not loaded: it holds code."""
    if not path.exists() or not only_mine(path) or not only_mine(path.parent):
        return None
    return open_package(path)


def open_package(path: Path) -> Any:
    """What the compiler has made, without importing the compiler."""
    return torch._C._aoti.AOTIModelPackageLoader(str(path), "model", False, 1, -1)


class NotStarted(Enum):
    NO_COMPILER = "there is no compiler"
    FAILED = "it failed before"
    ELSEWHERE = "another process is at it"


def start_compiling(
    config: LeftToRight, kind: int, precision: str, texts: Texts, path: Path
) -> "subprocess.Popen[bytes] | NotStarted":
    """A process that makes the file, and goes on when this one ends; or why there is none."""
    if compiler() is None:
        return NotStarted.NO_COMPILER
    if path.with_suffix(FAILED).exists():
        return NotStarted.FAILED
    output = path.with_suffix(OUTPUT)
    if output.exists() and time.time() - output.stat().st_mtime < STALE_AFTER:
        return NotStarted.ELSEWHERE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = path.with_suffix(".json")
    write_text(settings, json.dumps(to_dict(config)))
    words = [str(settings), str(kind), precision, texts, str(path)]
    words = [sys.executable, "-m", "regard.decode.one_token.compile", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), "OMP_WAIT_POLICY": "passive"}
    with output.open("wb") as file:  # removed by the process when it ends by itself
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment, start_new_session=True
        )
