"""The run folder: the one artefact. Training writes it, every other verb reads it.

config.yaml          task, model, training and data settings; versions, threads, seed, command
tokenizer.json       for text
columns.json, keys.json, table.safetensors   for a table: its columns, ignored columns, training rows
model.safetensors    the best weights
ngrams.safetensors   for a text classifier: the n-gram model beside the network
checkpoints/step-…/  weights, optimiser, progress; complete or absent, with a sha256 manifest
metrics.jsonl        a line a log step
card.md              what it is, on what data, its scores, the command that made it
"""

from regard.store.folder import (
    CARD,
    COLUMNS,
    CONFIG,
    KEYS,
    NGRAMS,
    TABLE,
    TOKENIZER,
    WEIGHTS,
    RunFolder,
    read_config,
)
from regard.store.metrics import METRICS, is_final, read_metrics

__all__ = [
    "CARD",
    "COLUMNS",
    "CONFIG",
    "KEYS",
    "METRICS",
    "NGRAMS",
    "TABLE",
    "TOKENIZER",
    "WEIGHTS",
    "RunFolder",
    "is_final",
    "read_config",
    "read_metrics",
]
