"""A run folder in words."""

from pathlib import Path

import regard
from regard.core.config import to_yaml
from regard.loading import holds_table
from regard.run import METRICS, read_metrics

WORDS = {
    "loss": "training loss", "valid": "validation loss", "exact": "exactly right", "bleu": "BLEU",
    "bleu_lower": "BLEU, lower-cased", "chrf": "chrF", "macro_f1": "macro-F1", "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2", "rougeL": "ROUGE-L",
}  # fmt: skip
NOT_SCORES = {"step", "seconds", "speed", "rate_share", "skipped"}


def describe_run(path: Path) -> str:
    run = regard.load(path)
    if holds_table(path):
        from regard.tables.words import describe

        return describe(path, run)
    parameters = sum(p.numel() for p in run.model.parameters())
    lines = [f"{path}: {type(run.config).__name__}, {parameters:,} parameters"]
    metrics = read_metrics(path)
    latest = {name: line for line in metrics for name in line if name not in NOT_SCORES}
    for name, line in latest.items():
        value = "not finite" if line[name] is None else f"{line[name]:.4f}"
        lines.append(f"{WORDS.get(name, name.replace('_', ' '))}: {value} at step {line['step']:,}")
    if metrics:
        lines.append(f"all measurements: {path / METRICS}")
    return "\n".join([*lines, "", to_yaml(run.config).rstrip()])
