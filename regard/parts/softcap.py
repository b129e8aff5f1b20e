"""Logit soft-capping: scores are squashed smoothly into an interval around zero (Gemma 2, 2024)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.config import Config
from regard.core.errors import ConfigError


@dataclass(frozen=True)
class Softcap(Config):
    cap: float = 30.0  # no score is larger than this, or smaller than its negative

    def __post_init__(self) -> None:
        if not self.cap > 0:
            raise ConfigError(f"cap: must be above 0, not {self.cap}")

    def apply(self, scores: Tensor) -> Tensor:
        return self.cap * torch.tanh(scores / self.cap)
