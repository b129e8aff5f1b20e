"""Groups of runs: those of a study that differ in their seed alone are drawn as one curve with a band."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

STUDY = "study.json"  # which makes a folder of runs a study
BASE = "base"  # what the changes of an ablation are compared with


def study_of(path: Path) -> dict[str, str | None]:
    """The study that a run is part of, and the name that it shares with those of other seeds."""
    named = re.fullmatch(r"(.+)-\d+", path.name)
    study = path.absolute().parent.parent
    if named is None or path.absolute().parent.name != "runs" or not (study / STUDY).is_file():
        return {"study": None, "variant": None}
    return {"study": study.name, "variant": named[1]}


def grouped(runs: Sequence[Path]) -> dict[str, list[Path]]:
    """Runs by the name of their group, the base of an ablation first; a run of no study is a group of its own."""
    told = [study_of(path) for path in runs]
    several = len({one["study"] for one in told} - {None}) > 1
    found: dict[str, list[Path]] = {}
    for path, one in sorted(zip(runs, told, strict=True), key=lambda pair: pair[1]["variant"] != BASE):
        variant = f"{one['study']}: {one['variant']}" if several else str(one["variant"])
        found.setdefault(variant if one["study"] else str(path), []).append(path)
    return found


def together(curves: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps, and there the mean, the lowest and the highest of several curves; each counts as far as it reaches."""
    steps = np.unique(np.concatenate([curve["steps"] for curve in curves]))
    values = np.stack([
        np.interp(steps, curve["steps"], curve["values"], left=np.nan, right=np.nan) for curve in curves
    ])  # fmt: skip
    return steps, np.nanmean(values, 0), np.nanmin(values, 0), np.nanmax(values, 0)
