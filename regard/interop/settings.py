"""A config.json as questions with bounds: every answer is checked before anything is built from it.

What is asked for is remembered, so that what nobody asked for can be told.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from regard.core.errors import ConfigError
from regard.core.sizes import MAX_HEADS, MAX_HIDDEN, MAX_LABELS, MAX_LENGTH, MAX_VOCAB, MAX_WIDTH
from regard.interop.folder import shown

Answer = TypeVar("Answer")

WIDTH, HIDDEN, LAYERS, HEADS = MAX_WIDTH, MAX_HIDDEN, 512, MAX_HEADS
VOCAB, LENGTH, LABELS = MAX_VOCAB, MAX_LENGTH, MAX_LABELS

# Keys that change no answer: how weights began, training, generation, bookkeeping.
IGNORED = {
    "_name_or_path", "activation_dropout", "architectures", "attention_dropout", "attention_probs_dropout_prob",
    "attn_pdrop", "chunk_size_feed_forward", "classif_dropout", "classifier_dropout", "decoder_layerdrop", "dtype",
    "embd_pdrop", "embedding_dropout", "encoder_layerdrop", "encoder_stride", "finetuning_task",
    "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "hidden_dropout", "init_std",
    "initializer_factor", "initializer_range", "label2id", "layerdrop", "max_length", "model_type", "n_ctx",
    "num_beams", "output_attentions", "output_hidden_states", "output_past", "output_router_logits", "pooler_act",
    "pooler_output_size", "prefix", "pretraining_tp", "problem_type", "reorder_and_upcast_attn", "resid_dropout",
    "resid_pdrop", "residual_dropout", "router_aux_loss_coef", "router_jitter_noise", "summary_activation",
    "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj", "task_specific_params",
    "tokenizer_class", "torch_dtype", "torchscript", "transformers_version", "use_cache",
}  # fmt: skip

TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


class Settings:
    def __init__(self, data: Mapping[str, Any], where: str):
        self.data, self.where = data, where
        self.read_keys: set[str] = set()

    def integer(self, key: str, default: int | None, high: int, low: int = 1) -> int:
        """A whole number between bounds; a default of None means that the key must be there."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(key, value, f"must be a whole number from {low:,} to {high:,}")
        return value

    def optional_integer(self, key: str, high: int) -> int | None:
        return None if self._get(key, None) is None else self.integer(key, None, high)

    def number(self, key: str, default: float | None, low: float, high: float) -> float:
        value = self._get(key, default)
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        if not fits or not math.isfinite(value):
            raise self.error(key, value, f"must be a number from {low:g} to {high:g}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, value, "must be true or false")
        return value

    def choice(self, key: str, table: Mapping[str, Answer], default: str) -> Answer:
        value = self._get(key, default)
        if not isinstance(value, str) or value not in table:
            raise self.error(key, value, f"is none of {', '.join(table)}")
        return table[value]

    def only(self, key: str, *allowed: Any) -> None:
        """A key that may be absent, or say what our parts do anyway."""
        if key in self.data and not any(self.data[key] is one or self.data[key] == one for one in allowed):
            raise self.error(key, self.data[key], "is more than our parts can express")
        self.read_keys.add(key)

    def part(self, key: str) -> "Settings | None":
        value = self._get(key, None)
        if value is None or value == {}:
            return None
        if not isinstance(value, dict):
            raise self.error(key, value, "must be settings by name")
        return Settings(value, f"{self.where}: {key}")

    def eps(self, key: str, default: float) -> float:
        return self.number(key, default, low=0.0, high=1.0)

    def dropout(self, key: str, default: float) -> float:
        return self.number(key, default, low=0.0, high=0.999)

    def labels(self) -> list[str]:
        """The names of the labels in order; two without names where the file says nothing, as transformers has it."""
        names = self._get("id2label", None)
        if names is None:
            count = self.integer("num_labels", 2, LABELS)
            return [f"LABEL_{number}" for number in range(count)]
        if not isinstance(names, dict) or not 1 <= len(names) <= LABELS:
            raise self.error("id2label", names, "must lead from numbers to names")
        stated = self.data.get("num_labels")
        if stated is not None and stated != len(names):  # transformers believes the number, and the names are stale
            return [f"LABEL_{number}" for number in range(self.integer("num_labels", 2, LABELS))]
        ordered = [names.get(str(number)) for number in range(len(names))]
        if not all(isinstance(name, str) for name in ordered):
            raise self.error("id2label", names, f"must name each of 0 to {len(names) - 1}")
        return [str(name) for name in ordered]

    def tokens(self) -> dict[str, Any]:
        """The special tokens that the file names, for whoever decodes."""
        tokens = {key: self._get(key, None) for key in TOKENS}
        for key, value in tokens.items():
            single = value if isinstance(value, list) else [value]
            if not all(one is None or (isinstance(one, int) and not isinstance(one, bool)) for one in single):
                raise self.error(key, value, "must be a whole number")
        return {key: value for key, value in tokens.items() if value is not None}

    def unread(self) -> list[str]:
        """Keys that nobody asked for and that may mean something."""
        return sorted(set(self.data) - self.read_keys - IGNORED)

    def error(self, key: str, value: Any, problem: str) -> ConfigError:
        return ConfigError(f"{self.where}: {shown(key)} {shown(value)} {problem}")

    def _get(self, key: str, default: Any) -> Any:
        self.read_keys.add(key)
        return self.data.get(key, default)
