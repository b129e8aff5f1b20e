"""The doctor: checks the installation and what would make it faster. One line per check; nothing is changed."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

import regard
from regard.core.extras import GROUPS, available, missing
from regard.core.machine import best_device, compiler, has_fast_bfloat16, usable_cores

State = Literal["ok", "hint", "broken"]
LITTLE_DISK = 2 * 2**30  # bytes: a few runs with their checkpoints
SIDE = 768  # of the matrices that are multiplied to see how fast
LIBRARIES = ("torch", "numpy", "scikit-learn", "pandas", "pyarrow", "tokenizers", "safetensors")


@dataclass(frozen=True)
class Finding:
    about: str
    state: State
    message: str


def examine(folder: Path = Path()) -> list[Finding]:
    """Run all checks; one that raises is reported as broken, and the others still run."""
    findings: list[Finding] = []
    for about, check in CHECKS.items():
        try:
            findings.append(Finding(about, *check(folder)))
        except Exception as error:
            findings.append(Finding(about, "broken", " ".join(f"{type(error).__name__}: {error}".split())))
    return findings


def as_dict(findings: list[Finding]) -> dict[str, Any]:
    return {one.about: {name: value for name, value in asdict(one).items() if name != "about"} for one in findings}


def as_lines(findings: list[Finding], columns: int = 0) -> Iterator[str]:
    """One line per finding; on a terminal of so many columns long lines are wrapped with a hanging indent."""
    width = max(len(one.about) for one in findings)
    for one in findings:
        line, hang = f"{one.state:<7} {one.about:<{width}}  {one.message}", " " * (width + 10)
        yield fill(line, columns, subsequent_indent=hang, break_long_words=False) if columns > 2 * len(hang) else line


def _versions(_: Path) -> tuple[State, str]:
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    message = f"regard {regard.__version__}, {system}, in {Path(regard.__file__).parent}"
    return ("ok" if sys.version_info >= (3, 11) else "broken"), message


def _libraries(_: Path) -> tuple[State, str]:
    import torch  # a build that does not fit the machine fails here

    absent = [name for name in LIBRARIES if not _version(name)]
    if absent:
        return "broken", f"not installed: {', '.join(absent)}; pip install {' '.join(absent)}"
    others = ", ".join(f"{name} {_version(name)}" for name in LIBRARIES[1:])
    return "ok", f"torch {torch.__version__}, {others}"


def _groups(_: Path) -> tuple[State, str]:
    installed = [group for group in GROUPS if available(group)]
    absent = [f"{group} ({', '.join(missing(group))})" for group in GROUPS if group not in installed]
    message = f"installed: {', '.join(installed) or 'none'}"
    if absent:
        return "hint", f"{message}; not installed: {', '.join(absent)}; pip install 'regard[all]'"
    return "ok", message


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _threads(_: Path) -> tuple[State, str]:
    import torch

    threads, cores, policy = torch.get_num_threads(), usable_cores(), os.environ.get("OMP_WAIT_POLICY", "")
    message = f"{threads} of {cores} usable cores, OMP_WAIT_POLICY={policy or 'unset'}"
    if threads < cores:
        return "hint", f"{message}: OMP_NUM_THREADS={cores} would use them all"
    if policy.lower() != "passive":
        return "hint", f"{message}: with passive, training is several times faster beside other programs"
    return "ok", message


def _device(_: Path) -> tuple[State, str]:
    import torch

    device = best_device()
    if device == "cpu":
        built = (
            "torch was built with CUDA, but no GPU is visible" if torch.version.cuda else "torch was built without CUDA"
        )
        return "ok", f"cpu ({built})"
    return "ok", f"{device}: {torch.cuda.device_count()} × {torch.cuda.get_device_name()}"


def _bfloat16(_: Path) -> tuple[State, str]:
    device = best_device()
    gain = _seconds("float32", device) / _seconds("bfloat16", device)
    message = f"matrix products of {SIDE} × {SIDE} are {gain:.1f} times as fast as in float32 on {device}"
    if has_fast_bfloat16(device):
        return "ok", message
    return (
        "hint",
        f"{message}; this CPU has no bfloat16 instructions, so training uses float32, at about half the speed",
    )


def _seconds(kind: str, device: str) -> float:
    """Time of one product: the best of several, which a busy machine affects least."""
    import torch

    matrix, times = torch.ones(SIDE, SIDE, dtype=getattr(torch, kind), device=device), []
    for _ in range(6):
        began = time.perf_counter()
        (matrix @ matrix)[0, 0].item()  # waits for the device
        times.append(time.perf_counter() - began)
    return min(times)


def _compiler(_: Path) -> tuple[State, str]:
    path = compiler()
    if path:
        return "ok", f"{path}: long runs are compiled"
    return "hint", "no C++ compiler: long runs train uncompiled, up to twice as slowly (apt install g++)"


def _weights(_: Path) -> tuple[State, str]:
    from regard.store import WEIGHTS
    from regard.tables.network.pretrained import FOLDER, pretrained_model

    parameters = sum(one.numel() for one in pretrained_model().parameters())
    size = (FOLDER / WEIGHTS).stat().st_size
    return "ok", f"the in-context table model: {parameters:,} parameters, {size / 1e6:.1f} MB in {FOLDER}"


def _page(_: Path) -> tuple[State, str]:
    from regard.view.page import page_files

    files = page_files()
    if "index.html" not in files:
        return "broken", "the page of `regard view` is missing from the package; reinstall regard"
    return "ok", f"the page of `regard view`: {len(files)} files, {sum(map(len, files.values())) / 1e3:.0f} kB"


def _disk(folder: Path) -> tuple[State, str]:
    free, place = shutil.disk_usage(folder).free, folder.resolve()
    message = f"{free / 2**30:.1f} GiB free in {place}"
    if not os.access(place, os.W_OK):
        return "hint", f"{message}, which is not writable; choose another folder with --out"
    return ("hint", f"{message}: checkpoints of large models may not fit") if free < LITTLE_DISK else ("ok", message)


def _browser(_: Path) -> tuple[State, str]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    absent = [name for name, there in (("chromium", path), ("playwright", find_spec("playwright"))) if not there]
    if absent:
        return "hint", f"no {' and no '.join(absent)}: only the project's own browser tests need it"
    return "ok", f"{path} with playwright {_version('playwright')}, for the project's own browser tests"


CHECKS: dict[str, Callable[[Path], tuple[State, str]]] = {
    "regard": _versions,
    "libraries": _libraries,
    "groups": _groups,
    "threads": _threads,
    "device": _device,
    "bfloat16": _bfloat16,
    "compiler": _compiler,
    "weights": _weights,
    "viewer": _page,
    "disk": _disk,
    "browser": _browser,
}
