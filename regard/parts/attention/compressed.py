"""Memory-compressed attention: a strided convolution shortens keys and values first (Liu et al., 2018).

Three keys become one slot, so long documents fit. Under a causal mask a query sees the slots that are complete, and
memory grows with the length, not with its square.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.errors import ConfigError, at_least
from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.attention.base import Attention, AttentionConfig, Bias
from regard.parts.attention.full import FullAttention
from regard.parts.masks import Allowed, Causal, Index, Mask


@dataclass(frozen=True)
class Compressed(AttentionConfig):
    stride: int = 3  # keys to a slot
    hides_future = True
    takes_bias = False
    cross_attention = False

    def __post_init__(self) -> None:
        at_least(1, stride=self.stride)

    def build(self, heads: int, head_size: int) -> "CompressedAttention":
        return CompressedAttention(heads, head_size, self.stride)


class CompressedAttention(Attention):
    """Slot 0 is learned and always visible: the first queries come before any complete slot and must look somewhere."""

    def __init__(self, heads: int, size: int, stride: int):
        super().__init__()
        self.stride = stride
        self.compress_keys = nn.Linear(stride * size, size, bias=False)
        self.compress_values = nn.Linear(stride * size, size, bias=False)
        self.first_key = nn.Parameter(torch.zeros(heads, 1, size))
        self.first_value = nn.Parameter(torch.zeros(heads, 1, size))
        self.slots = FullAttention(size**-0.5)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        slots = self._compress(q, k, v, mask, bias)
        if type(mask) is Causal and q.shape[-2] == k.shape[-2]:
            return self._attend_to_complete(q, *slots[:2])
        return self.slots(q, *slots)

    def _attend_to_complete(self, q: Queries, keys: Tensor, values: Tensor) -> Output:
        """The same by the fused kernel, which builds no mask.

        A query that comes after n·stride keys sees the slots 0 to n. So one query out of every stride is a causal text
        beside its slots, and the others are more such texts: they become heads.
        """
        heads, length = q.shape[1:3]
        count = length // self.stride + 1
        q = F.pad(q, (0, 0, 1, count * self.stride - length - 1))  # a query counts the keys up to itself: from 1
        texts = q.unflatten(-2, (count, self.stride)).transpose(-2, -3)
        seen = (x[..., None, :count, :].expand(-1, -1, self.stride, -1, -1).flatten(1, 2) for x in (keys, values))
        output: Tensor = self.slots(texts.flatten(1, 2), *seen, Causal()).unflatten(1, (heads, self.stride))
        return output.transpose(-2, -3).flatten(2, 3)[..., 1 : length + 1, :]

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        return self.slots.watch(q, *self._compress(q, k, v, mask, bias))

    def _compress(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None, bias: Bias | None
    ) -> tuple[Tensor, Tensor, Mask | None]:
        if bias is not None:
            raise ConfigError("Compressed attention looks at slots, not keys: it takes no score bias")
        length = k.shape[-2]
        slots = -(-length // self.stride)
        if mask is not None:  # padding sees not even itself, and must not reach a slot
            key = torch.arange(length, device=k.device)
            real = mask.at(key, key)[:, None, :, None]
            k, v = k * real, v * real
        tail = (0, 0, 0, slots * self.stride - length)
        k = self.compress_keys(F.pad(k, tail).unflatten(-2, (slots, self.stride)).flatten(-2))
        v = self.compress_values(F.pad(v, tail).unflatten(-2, (slots, self.stride)).flatten(-2))
        first = k.shape[0], -1, -1, -1
        k = torch.cat([self.first_key.expand(first), k], -2)
        v = torch.cat([self.first_value.expand(first), v], -2)
        return k, v, mask and SlotMask(mask, self.stride, length, shift=length - slots - 1)


class SlotMask(Mask):
    """The mask of the slots: the first is open, another where every real key in it is.

    Where the future is hidden a slot must also be complete, or it would change as the text grows.
    """

    def __init__(self, mask: Mask, stride: int, length: int, shift: int):
        self.mask, self.stride, self.length = mask, stride, length
        self.shift = shift  # queries are counted from the end of the slots here, and from the end of the keys there

    def at(self, query: Index, key: Index) -> Allowed:
        keys = (key[..., None] - 1) * self.stride + torch.arange(self.stride, device=key.device)
        within = (keys >= 0) & (keys < self.length)
        keys = keys.clamp(0, self.length - 1)
        seen = self.mask.at(query[..., None] + self.shift, keys) & within
        if self.mask.hides_future:
            return seen.all(-1) | (key == 0)
        real = self.mask.at(keys, keys) & within
        return ((seen | ~real).all(-1) & seen.any(-1)) | (key == 0)
