"""The run folder: the one artefact. Training writes it, every other verb reads it.

config.yaml          task, model, training and data settings; versions, threads, seed, command
tokenizer.json       where there is text
columns.json, table.safetensors   where there is a table: its columns and its known rows
model.safetensors    the best weights
checkpoints/step-…/  weights, optimiser, progress; complete or absent, with a sha256 manifest
metrics.jsonl        a line a log step
card.md              what it is, on what data, its scores, the command that made it
"""

from regard.run.folder import (
    CARD,
    COLUMNS,
    CONFIG,
    METRICS,
    TABLE,
    TOKENIZER,
    WEIGHTS,
    Checkpoint,
    RunFolder,
    is_final,
    read_config,
    read_metrics,
)
from regard.run.loaded import Run, load_run, read_model, save_run, set_weights

__all__ = [
    "CARD",
    "COLUMNS",
    "CONFIG",
    "METRICS",
    "TABLE",
    "TOKENIZER",
    "WEIGHTS",
    "Checkpoint",
    "Run",
    "RunFolder",
    "is_final",
    "load_run",
    "read_config",
    "read_metrics",
    "read_model",
    "save_run",
    "set_weights",
]
