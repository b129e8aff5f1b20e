"""Groups of runs: runs of a study that differ only in the seed are drawn as one curve with a band."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

STUDY = "study.json"  # marks a folder of runs as a study
BASE = "base"  # the baseline of an ablation


def study_of(path: Path) -> dict[str, str | None]:
    """The study of a run and its variant: the name without the seed."""
    named = re.fullmatch(r"(.+)-\d+", path.name)
    study = path.absolute().parent.parent
    if named is None or path.absolute().parent.name != "runs" or not (study / STUDY).is_file():
        return {"study": None, "variant": None}
    return {"study": study.name, "variant": named[1]}


def grouped(runs: Sequence[Path]) -> dict[str, list[Path]]:
    """Runs by group name, the baseline of an ablation first; a run outside a study is a group of its own."""
    studies, labels = [study_of(path) for path in runs], short_names(runs)
    several = len({one["study"] for one in studies} - {None}) > 1
    groups: dict[str, list[Path]] = {}
    named = zip(runs, studies, labels, strict=True)
    for path, one, label in sorted(named, key=lambda each: each[1]["variant"] != BASE):
        variant = f"{one['study']}: {one['variant']}" if several else str(one["variant"])
        groups.setdefault(variant if one["study"] else label, []).append(path)
    return groups


def short_names(runs: Sequence[Path]) -> list[str]:
    """Names to tell runs apart: their paths without the folders that all share."""
    parts = [path.absolute().parts for path in runs]
    shared = 0
    while parts and all(len(names) > shared + 1 and names[shared] == parts[0][shared] for names in parts):
        shared += 1
    return ["/".join(names[shared:]) for names in parts]


def mean_curve(curves: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps, mean, minimum and maximum of several curves; a curve counts only between its first and last step."""
    steps = np.unique(np.concatenate([curve["steps"] for curve in curves]))
    values = np.stack([
        np.interp(steps, curve["steps"], curve["values"], left=np.nan, right=np.nan) for curve in curves
    ])  # fmt: skip
    return steps, np.nanmean(values, 0), np.nanmin(values, 0), np.nanmax(values, 0)
