"""Dropout: while training, a share of the states is set to zero and the rest grows to make up for it."""

import torch
from torch import Tensor, nn

LEVELS = 256  # a byte of chance for each state: the share is exact to one part in this many
COARSE = 4 / LEVELS  # shares below this, or that close to one, deserve finer chances


class Dropout(nn.Dropout):
    """`nn.Dropout`, whose draw of one number for each state is a seventh of a small model's step on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        slow = x.device.type == "cpu" and COARSE <= self.p <= 1 - COARSE and not torch.compiler.is_compiling()
        if not slow:
            return super().forward(x)
        dropped = round(self.p * LEVELS)
        random_bytes = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
        keep = random_bytes.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
        return x * keep.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))
