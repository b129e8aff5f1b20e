"""The run folder: the one artefact. Training writes it, every other verb reads it.

config.yaml          task, model, training and data settings; versions, threads, seed, command
tokenizer.json       for text; special_tokens.json where those of another library have other names,
                     target_tokenizer.json where targets have tokens of their own
columns.json, keys.json, table.safetensors   for a table: its columns, ignored columns, training rows
model.safetensors    the best weights; of a run with an adapter, only what was trained
base.json            for an adapter: the model beside which it was trained
origin               what the Hugging Face folder said beside the weights, for a run that started from one
ngrams.safetensors   for a text classifier: the n-gram model beside the network
extractor.safetensors  for a summariser: the extractor beside the network
checkpoints/step-…/  weights, optimiser, progress; complete or absent, with a sha256 manifest
metrics.jsonl        a line a log step
card.md              what it is, on what data, its scores, the command that made it
"""

from regard.store.folder import (
    BASE,
    CARD,
    COLUMNS,
    CONFIG,
    EXTRACTOR,
    KEYS,
    NGRAMS,
    ORIGIN,
    TABLE,
    TOKENIZER,
    WEIGHTS,
    RunFolder,
    read_config,
)
from regard.store.metrics import METRICS, is_final, read_metrics

__all__ = [
    "BASE",
    "CARD",
    "COLUMNS",
    "CONFIG",
    "EXTRACTOR",
    "KEYS",
    "METRICS",
    "NGRAMS",
    "ORIGIN",
    "TABLE",
    "TOKENIZER",
    "WEIGHTS",
    "RunFolder",
    "is_final",
    "read_config",
    "read_metrics",
]
