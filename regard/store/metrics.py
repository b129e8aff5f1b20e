"""Metrics: a file with one JSON object a line, which survives a kill in the middle of a line."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.files import explain_full_disk, write_text
from regard.core.system import open_no_follow

METRICS = "metrics.jsonl"


def log_metrics(folder: Path, values: Mapping[str, Any]) -> None:
    """Add a line; values that are not finite become null, which every JSON reader knows."""
    finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
    file = folder / METRICS
    with explain_full_disk(file), open(open_no_follow(file, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as out:
        out.write(json.dumps(finite, allow_nan=False) + "\n")


def forget_metrics_after(folder: Path, step: int) -> None:
    """Drop the lines after a checkpoint: training will log them again."""
    lines = [line for line in read_metrics(folder) if line["step"] <= step]
    write_text(folder / METRICS, "".join(json.dumps(line) + "\n" for line in lines))


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Every logged line; a last line that a kill cut short is ignored, and so is anything that is not a measurement."""
    lines = []
    if (folder / METRICS).exists():
        for text in (folder / METRICS).read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict) and isinstance(line.get("step"), int):
                lines.append(line)
    return lines


def is_final(line: Mapping[str, Any], name: str) -> bool:
    """Whether a value is that of the finished run: the `loss` beside the scores is not that of a step."""
    return name == "loss" and "lr_multiplier" not in line
