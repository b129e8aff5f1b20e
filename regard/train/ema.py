"""Exponential moving average of the weights: often better than the last ones (Polyak & Juditsky, 1992)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.core.tensors import trained_state


class EMA:
    """The average of all that is trained; frozen weights need none."""

    def __init__(self, model: nn.Module, decay: float):
        self.decay, self.updates = decay, 0
        self.weights = {name: value.detach().clone() for name, value in trained_state(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Early averages decay faster, so that they do not remember the initial weights."""
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for name, value in trained_state(model).items():
            if value.is_floating_point():
                self.weights[name].lerp_(value, 1 - decay)
            else:
                self.weights[name].copy_(value)

    def restore(self, weights: Mapping[str, Tensor], updates: int) -> None:
        self.weights = {name: weights[name].to(weight.device, copy=True) for name, weight in self.weights.items()}
        self.updates = updates

    @contextmanager
    def applied_to(self, model: nn.Module) -> Iterator[None]:
        """The model with the average as its weights, until the block ends."""
        original = {name: value.clone() for name, value in trained_state(model).items()}
        model.load_state_dict(self.weights, strict=False)
        try:
            yield
        finally:
            model.load_state_dict(original, strict=False)
