"""Label attention: attention whose values are the labels of the keys (matching networks, Vinyals et al., 2016).

A prediction is the mean of the context labels, weighted by attention, so any number of classes can be predicted and the
weights say which rows decided.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.shapes import Keys, Memory, States
from regard.parts.attention import Full, ScalableSoftmax
from regard.parts.linear import Linear
from regard.parts.multihead import width_per_head
from regard.parts.taps import Tap


class LabelAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.head_size = width_per_head(width, heads)
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.attend = Full(scale=ScalableSoftmax()).build(heads, self.head_size)
        self.pattern = Tap()

    def keys(self, memory: Memory) -> Keys:
        """What queries are compared with, computed once for any number of them."""
        return self._split(self.key(memory)).float()

    def forward(
        self, x: States, keys: Keys, labels: Float[Tensor, "batch source label"]
    ) -> Float[Tensor, "batch length label"]:
        """The attended labels, averaged over heads; `labels` are class probabilities or numbers."""
        q = self._split(self.query(x)).float()
        with torch.autocast(x.device.type, enabled=False):  # small probabilities of rare labels need full precision
            if self.pattern.watched:
                attended, pattern = self.attend.watch(q, keys, self._values(labels))
                self.pattern(pattern)
            elif torch.is_grad_enabled():
                attended = self.attend(q, keys, self._values(labels))
            else:
                parts = labels.split(self.head_size, -1)
                attended = torch.cat([self._attend_fused(q, keys, part) for part in parts], -1)
        return attended.mean(1)

    def _attend_fused(self, q: Tensor, keys: Keys, labels: Tensor) -> Tensor:
        """The same, by the fused kernel, which builds no pattern but needs values as wide as keys."""
        few = labels.shape[-1]
        attended: Tensor = self.attend(q, keys, self._values(F.pad(labels, (0, self.head_size - few))))
        return attended[..., :few]

    def _values(self, labels: Tensor) -> Tensor:
        heads = self.key.out_features // self.head_size
        return labels[:, None].expand(-1, heads, -1, -1)

    def _split(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (-1, self.head_size))
        return heads.transpose(1, 2)


class Gate(Linear):
    """The weight, between 0 and 1, of a second prediction against the first, one for each row."""

    def __init__(self, width: int):
        super().__init__(width, 1)
        self.weights = Tap()  # of the first and of the second prediction

    def forward(self, x: States) -> Float[Tensor, "batch length one"]:
        weight = super().forward(x).float().sigmoid()
        if self.weights.watched:
            self.weights(torch.cat([1 - weight, weight], -1))
        return weight
