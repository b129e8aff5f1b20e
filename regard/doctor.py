"""The doctor: is everything here that regard needs, and what would make it faster? A line for each, and no repairs."""

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
from regard.core.machine import best_device, compiler, has_fast_bfloat16, usable_cores

State = Literal["ok", "hint", "broken"]
LITTLE_DISK = 2 * 2**30  # bytes: a few runs with their checkpoints
SIDE = 768  # of the matrices that are multiplied to see how fast
MEASURED = ("torch", "numpy", "scikit-learn", "pandas", "pyarrow", "tokenizers", "safetensors")


@dataclass(frozen=True)
class Finding:
    about: str
    state: State
    message: str


def examine(folder: Path = Path()) -> list[Finding]:
    """All that was found; a check that fails is a finding, and the others go on."""
    found: list[Finding] = []
    for about, check in CHECKS.items():
        try:
            found.append(Finding(about, *check(folder)))
        except Exception as error:
            found.append(Finding(about, "broken", " ".join(f"{type(error).__name__}: {error}".split())))
    return found


def as_dict(findings: list[Finding]) -> dict[str, Any]:
    return {one.about: {name: value for name, value in asdict(one).items() if name != "about"} for one in findings}


def as_lines(findings: list[Finding], columns: int = 0) -> Iterator[str]:
    """A line each; on a screen of so many columns, what does not fit hangs below its beginning."""
    width = max(len(one.about) for one in findings)
    for one in findings:
        line, hang = f"{one.state:<7} {one.about:<{width}}  {one.message}", " " * (width + 10)
        yield fill(line, columns, subsequent_indent=hang, break_long_words=False) if columns > 2 * len(hang) else line


def _versions(_: Path) -> tuple[State, str]:
    here = (
        f"regard {regard.__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    return ("ok" if sys.version_info >= (3, 11) else "broken"), f"{here}, in {Path(regard.__file__).parent}"


def _libraries(_: Path) -> tuple[State, str]:
    import torch  # a build that does not fit the machine fails here

    missing = [name for name in MEASURED if not _version(name)]
    if missing:
        return "broken", f"not installed: {', '.join(missing)}; pip install {' '.join(missing)}"
    others = ", ".join(f"{name} {_version(name)}" for name in MEASURED[1:])
    return "ok", f"torch {torch.__version__}, {others}"


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
        built = "torch knows CUDA, and finds no such device" if torch.version.cuda else "this torch knows no CUDA"
        return "ok", f"cpu ({built})"
    return "ok", f"{device}: {torch.cuda.device_count()} × {torch.cuda.get_device_name()}"


def _bfloat16(_: Path) -> tuple[State, str]:
    device = best_device()
    gain = _seconds("float32", device) / _seconds("bfloat16", device)
    message = f"products of {SIDE} × {SIDE} take 1/{gain:.1f} of the time in float32 on {device}"
    if has_fast_bfloat16(device):
        return "ok", message
    return "hint", f"{message}; without instructions for it training stays in float32, at about half the speed"


def _seconds(kind: str, device: str) -> float:
    """Of one product: the best of several, so that a busy machine counts little."""
    import torch

    matrix, times = torch.ones(SIDE, SIDE, dtype=getattr(torch, kind), device=device), []
    for _ in range(6):
        began = time.perf_counter()
        (matrix @ matrix)[0, 0].item()  # waits for the device
        times.append(time.perf_counter() - began)
    return min(times)


def _compiler(_: Path) -> tuple[State, str]:
    found = compiler()
    if found:
        return "ok", f"{found}: long runs are compiled"
    return "hint", "no C++ compiler: long runs train uncompiled, up to twice as slowly (apt install g++)"


def _weights(_: Path) -> tuple[State, str]:
    from regard.store import WEIGHTS
    from regard.tables.network.pretrained import FOLDER, pretrained_model

    parameters = sum(one.numel() for one in pretrained_model().parameters())
    size = (FOLDER / WEIGHTS).stat().st_size
    return "ok", f"the reader of tables: {parameters:,} parameters, {size / 1e6:.1f} MB in {FOLDER}"


def _page(_: Path) -> tuple[State, str]:
    from regard.view.page import page_files

    files = page_files()
    if "index.html" not in files:
        return "broken", "the page of `regard view` is not in the package; install it again"
    return "ok", f"the page of `regard view`: {len(files)} files, {sum(map(len, files.values())) / 1e3:.0f} kB"


def _disk(folder: Path) -> tuple[State, str]:
    free, place = shutil.disk_usage(folder).free, folder.resolve()
    message = f"{free / 2**30:.1f} GiB free in {place}"
    if not os.access(place, os.W_OK):
        return "hint", f"{message}, which is not writable: name another folder with --out"
    return ("hint", f"{message}: checkpoints of large models may not fit") if free < LITTLE_DISK else ("ok", message)


def _browser(_: Path) -> tuple[State, str]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    missing = [name for name, there in (("chromium", found), ("playwright", find_spec("playwright"))) if not there]
    if missing:
        return "hint", f"no {' and no '.join(missing)}: only the project's own tests of the page need it"
    return "ok", f"{found} with playwright {_version('playwright')}, for the project's own tests of the page"


CHECKS: dict[str, Callable[[Path], tuple[State, str]]] = {
    "regard": _versions,
    "libraries": _libraries,
    "threads": _threads,
    "device": _device,
    "bfloat16": _bfloat16,
    "compiler": _compiler,
    "weights": _weights,
    "viewer": _page,
    "disk": _disk,
    "browser": _browser,
}
