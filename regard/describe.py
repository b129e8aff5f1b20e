"""A run folder in words."""

from pathlib import Path

import regard
from regard.core.config import to_yaml
from regard.run import METRICS, read_metrics


def describe_run(path: Path) -> str:
    run = regard.load(path)
    parameters = sum(p.numel() for p in run.model.parameters())
    lines = [f"{path}: {type(run.config).__name__}, {parameters:,} parameters"]
    metrics = read_metrics(path)
    for name, word in (
        ("loss", "training loss"),
        ("valid", "validation loss"),
        ("exact", "exactly right"),
        ("rougeL", "ROUGE-L"),
    ):
        found = [line for line in metrics if name in line]
        if found:
            lines.append(f"{word}: {found[-1][name]:.4f} at step {found[-1]['step']:,}")
    if metrics:
        lines.append(f"all measurements: {path / METRICS}")
    return "\n".join([*lines, "", to_yaml(run.config).rstrip()])
