"""Linformer: fold keys and values into a few slots, then attend to the slots (Wang et al., 2020).

Time and memory grow with length × slots. Each slot mixes the whole sequence, so the future cannot be hidden.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.core.errors import ConfigError, at_least, at_most
from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.core.sizes import MAX_LENGTH
from regard.parts.attention.base import Attention, AttentionConfig, Bias
from regard.parts.attention.full import FullAttention
from regard.parts.masks import Mask


@dataclass(frozen=True)
class Linformer(AttentionConfig):
    slots: int = 128
    length: int = 512  # the longest sequence it can fold
    hides_future = False
    takes_bias = False
    cross_attention = False

    def __post_init__(self) -> None:
        at_least(1, slots=self.slots, length=self.length)
        at_most(MAX_LENGTH, slots=self.slots, length=self.length)

    def build(self, heads: int, head_size: int) -> "LinformerAttention":
        return LinformerAttention(self.slots, self.length, head_size)


class LinformerAttention(Attention):
    def __init__(self, slots: int, length: int, size: int):
        super().__init__()
        self.fold_keys = nn.Parameter(torch.randn(slots, length) * slots**-0.5)
        self.fold_values = nn.Parameter(torch.randn(slots, length) * slots**-0.5)
        self.slots = FullAttention(size**-0.5)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        return self.slots(q, *self._fold(k, v, mask, bias))

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        return self.slots.watch(q, *self._fold(k, v, mask, bias))

    def _fold(self, k: Keys, v: Values, mask: Mask | None, bias: Bias | None) -> tuple[Tensor, Tensor]:
        longest, length = self.fold_keys.shape[1], k.shape[-2]
        if length > longest:
            raise ConfigError(f"Linformer folds at most {longest} keys and was given {length}: raise attention.length")
        if bias is not None or (mask is not None and not mask.same_for_all):
            raise ConfigError("Linformer mixes all keys into its slots: it hides padding; no other mask and no bias")
        if mask is not None:  # a key that nobody may see must not reach a slot
            key = torch.arange(length, device=k.device)
            real = mask.at(key, key)[:, None, :, None]
            k, v = k * real, v * real
        return self.fold_keys[:, :length] @ k, self.fold_values[:, :length] @ v
