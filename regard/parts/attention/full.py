"""Full attention: every query looks at every key (Vaswani et al., 2017), by the fused kernel when nobody watches.

The fused kernel (flash attention, Dao et al., 2022) never builds the pattern, so its memory grows with the length and
not with its square.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.shapes import Keys, Output, Pattern, Queries, Values
from regard.parts.attention.base import Attention, AttentionConfig, Bias, everywhere, hide, weigh
from regard.parts.masks import Causal, Mask
from regard.parts.softcap import Softcap

# The way back of the fused kernel is slow in bfloat16 on a processor. A pattern of up to so many numbers is built
# instead, two to four times as fast; above, the kernel computes in float32.
PLAIN = 3 * 2**23
USUAL = 256  # keys at which a scalable softmax is the usual one


@dataclass(frozen=True)
class ScalableSoftmax(Config):
    """Scores grow with the logarithm of the number of keys, so that many do not blur the weights (Nakanishi, 2025).

    They are those of the usual scale at 256 keys; how fast they grow, each head learns.
    """


@dataclass(frozen=True)
class Full(AttentionConfig):
    scale: float | ScalableSoftmax | None = None  # of the scores; None: one over the square root of the head size
    softcap: Softcap | None = None  # a bound on the scores; the fused kernel has none, so the pattern is then built
    hides_future = True
    takes_bias = True
    cross_attention = True
    shift_invariant = True

    def build(self, heads: int, head_size: int) -> "FullAttention":
        if isinstance(self.scale, ScalableSoftmax):
            return FullAttention(head_size**-0.5, heads, self.softcap)
        return FullAttention(head_size**-0.5 if self.scale is None else self.scale, softcap=self.softcap)


class FullAttention(Attention):
    def __init__(self, scale: float, scalable_heads: int = 0, softcap: Softcap | None = None):
        super().__init__()
        self.scale, self.softcap = scale, softcap
        self.log_scale = nn.Parameter(torch.ones(scalable_heads, 1, 1)) if scalable_heads else None

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None) -> Output:
        slow = q.dtype == torch.bfloat16 and q.device.type == "cpu" and torch.is_grad_enabled()
        if self.softcap is not None or (slow and q.shape[:-1].numel() * k.shape[-2] <= PLAIN):
            return self.watch(q, k, v, mask, bias)[0]
        q = self._scaled(q, k, mask)
        if slow:
            with torch.autocast("cpu", enabled=False):
                return self._attend(q.float(), k.float(), v.float(), mask, bias).to(q.dtype)
        return self._attend(q, k, v, mask, bias)

    def _attend(self, q: Queries, k: Keys, v: Values, mask: Mask | None, bias: Bias | None) -> Output:
        if bias is None and type(mask) is Causal:
            if q.shape[-2] == k.shape[-2]:
                return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
            if q.shape[-2] == 1:  # the newest token may look at all that is there
                mask = None
        allowed, added = everywhere(q, k, mask, bias)
        terms = allowed if added is None else hide(added, allowed)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=terms, scale=self.scale)

    def watch(
        self, q: Queries, k: Keys, v: Values, mask: Mask | None = None, bias: Bias | None = None
    ) -> tuple[Output, Pattern]:
        q = self._scaled(q, k, mask)
        allowed, added = everywhere(q, k, mask, bias)
        scores: Tensor = q @ k.transpose(-2, -1) * self.scale
        scores = scores if self.softcap is None else self.softcap.apply(scores)
        pattern = weigh(scores if added is None else scores + added, allowed)
        return pattern.to(v.dtype) @ v, pattern

    def _scaled(self, q: Queries, k: Keys, mask: Mask | None) -> Queries:
        """Queries that are the longer the more keys they may look at, where the softmax is scalable."""
        if self.log_scale is None:
            return q
        allowed, _ = everywhere(q, k, mask, None)
        count = torch.tensor(k.shape[-2], device=q.device) if allowed is None else allowed.sum(-1, keepdim=True)
        return q * (self.log_scale * (count.log1p() / math.log(USUAL))).to(q.dtype)
