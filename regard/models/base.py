"""What every model that writes has: where it computes, and how many tokens fit."""

import torch
from torch import nn


class WritingModel(nn.Module):
    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def max_positions(self) -> int | None:
        """How many tokens it can read and write in all; None: any number."""
        return None

    @property
    def joins_texts(self) -> bool:
        """Whether states of texts of different lengths can be joined into one, to be stepped together."""
        return False
