"""What `regard show` prints: a run folder as text."""

from pathlib import Path
from typing import Any

import regard
from regard.core.config import to_yaml
from regard.loading import holds_table
from regard.store import CONFIG, METRICS, is_final, read_config, read_metrics

TITLES = {
    "loss": "training loss", "valid": "validation loss", "final_loss": "best validation loss",
    "exact": "exact match", "bleu": "BLEU",
    "bleu_lower": "BLEU, lower-cased", "chrf": "chrF", "macro_f1": "macro-F1", "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2", "rougeL": "ROUGE-L",
}  # fmt: skip
NOT_SCORES = {"step", "seconds", "speed", "lr_multiplier", "lr", "lr_adamw", "skipped"}


def describe_run(path: Path) -> str:
    run = regard.load(path)
    if holds_table(path):
        from regard.tables.rendering import describe

        return describe(path, run)
    parameters = sum(p.numel() for p in run.model.parameters())
    lines = [f"{path}: {type(run.config).__name__}, {parameters:,} parameters"]
    if (path / CONFIG).exists() and (command := read_config(path).get("command")):
        lines.append(f"made by: {command}")
    metrics = read_metrics(path)
    if trained := [line["seconds"] for line in metrics if "seconds" in line]:
        lines.append(f"trained for {trained[-1]:,.0f} s, {metrics[-1]['step']:,} steps")
    lines += [f"{name}: {value:.4f} at step {step:,}" for name, (value, step) in latest(metrics).items()]
    if metrics:
        lines.append(f"all metrics: {path / METRICS}")
    return "\n".join([*lines, "", to_yaml(run.config).rstrip()])


def latest(metrics: list[dict[str, Any]]) -> dict[str, tuple[float, int]]:
    """The last finite value of each metric by its title, with its step."""
    values: dict[str, tuple[float, int]] = {}
    for line in metrics:
        for name, value in line.items():
            if name not in NOT_SCORES and isinstance(value, int | float):
                key = "final_loss" if is_final(line, name) else name
                values[TITLES.get(key, key.replace("_", " "))] = float(value), line["step"]
    return values
