"""Label attention: attention whose values are the labels of the keys (matching networks, Vinyals et al., 2016).

A prediction is the mean of the context labels, weighted by attention, so any number of classes can be predicted and the
weights say which rows decided.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.shapes import Memory, States
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

    def forward(
        self, x: States, memory: Memory, labels: Float[Tensor, "batch source label"]
    ) -> Float[Tensor, "batch length label"]:
        """The attended labels, averaged over heads; `labels` are class probabilities or numbers."""
        q, k = self._split(self.query(x)).float(), self._split(self.key(memory)).float()
        v = labels[:, None].expand(-1, q.shape[1], -1, -1)
        with torch.autocast(x.device.type, enabled=False):  # small probabilities of rare labels need full precision
            if self.pattern.watched:
                attended, pattern = self.attend.watch(q, k, v)
                self.pattern(pattern)
            else:
                attended = self.attend(q, k, v)
        return attended.mean(1)

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
