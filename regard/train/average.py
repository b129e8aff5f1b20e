"""A running mean of the weights, which is often better than any of them (Polyak & Juditsky, 1992)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    def __init__(self, model: nn.Module, decay: float):
        self.decay, self.updates = decay, 0
        self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Young means forget faster, so that they do not remember how the weights began."""
        self.updates += 1
        keep = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                self.weights[name].lerp_(value, 1 - keep)
            else:
                self.weights[name].copy_(value)

    def set(self, weights: Mapping[str, Tensor], updates: int) -> None:
        self.weights = {name: weights[name].to(own.device, copy=True) for name, own in self.weights.items()}
        self.updates = updates

    @contextmanager
    def worn_by(self, model: nn.Module) -> Iterator[None]:
        """The model with the mean as its weights, until the block ends."""
        own = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(self.weights)
        try:
            yield
        finally:
            model.load_state_dict(own)
