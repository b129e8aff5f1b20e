"""The vote: attention whose values are the labels themselves, so that rows with known answers decide the unknown.

What a row is predicted to be is then literally the mean of the answers of the rows it looked at, weighted by how much
(matching networks, Vinyals et al., 2016), and any number of labels can be voted on.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.shapes import Memory, States
from regard.parts.attention import Full
from regard.parts.linear import Linear
from regard.parts.multihead import width_per_head
from regard.parts.taps import Tap


class Vote(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.head_size = width_per_head(width, heads)
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.attend = Full(grows=True).build(heads, self.head_size)
        self.pattern = Tap()

    def forward(
        self, x: States, memory: Memory, labels: Float[Tensor, "batch source label"]
    ) -> Float[Tensor, "batch length label"]:
        """The mean over heads of what each finds; `labels` are shares of each label, or numbers."""
        q, k = self._split(self.query(x)).float(), self._split(self.key(memory)).float()
        v = labels[:, None].expand(-1, q.shape[1], -1, -1)
        with torch.autocast(x.device.type, enabled=False):  # small shares of rare labels need all digits
            if self.pattern.watched:
                found, pattern = self.attend.watch(q, k, v)
                self.pattern(pattern)
            else:
                found = self.attend(q, k, v)
        return found.mean(1)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)


class Trust(Linear):
    """How far each row trusts another opinion than the vote: a share between nothing and all of it."""

    def __init__(self, width: int):
        super().__init__(width, 1)
        self.share = Tap()  # of the vote, and of the other opinion

    def forward(self, x: States) -> Float[Tensor, "batch length one"]:
        share = super().forward(x).float().sigmoid()
        if self.share.watched:
            self.share(torch.cat([1 - share, share], -1))
        return share
