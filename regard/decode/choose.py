"""Choosing the next token from its scores: the likeliest, or a draw among the likely ones."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.errors import ConfigError

Scores = Float[Tensor, "batch vocab"]
Choice = Int[Tensor, " batch"]
COLD = 1e-6  # temperatures below it: scores divided by them leave the range of numbers
Choose = Callable[[Scores, list[list[int]]], Choice]  # scores, and what each row has so far


def likeliest(scores: Scores, written: list[list[int]]) -> Choice:
    return scores.argmax(-1)


@dataclass(frozen=True)
class Sampling:
    """A random draw. Temperature first, then whatever is too unlikely is left out, by number, by mass or by ratio."""

    temperature: float = 1.0  # 0: always the likeliest
    top_k: int | None = None  # only the k likeliest
    top_p: float | None = None  # only the likeliest that together have this probability (Holtzman et al., 2020)
    min_p: float | None = None  # only those at least this share as likely as the likeliest
    repetition: float = 1.0  # above 1: what has been written becomes less likely (Keskar et al., 2019)
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise ConfigError(f"temperature: must be at least 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top_k: must be at least 1, not {self.top_k}")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ConfigError(f"{name}: must be above 0 and at most 1, not {value}")
        if not self.repetition > 0:
            raise ConfigError(f"repetition: must be above 0, not {self.repetition}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed: must be at least 0 and below 2**63, not {self.seed}")

    def chooser(self) -> Choose:
        dice = torch.Generator()
        dice.manual_seed(self.seed) if self.seed is not None else dice.seed()

        def choose(scores: Scores, written: list[list[int]]) -> Choice:
            scores = self._less_repetition(scores.float(), written)
            if self.temperature < COLD:
                return scores.argmax(-1)
            chances = self.chances(scores / self.temperature)
            return torch.multinomial(chances.cpu(), 1, generator=dice)[:, 0].to(scores.device)

        return choose

    def chances(self, scores: Scores) -> Scores:
        """Probabilities with the unlikely ones at zero; not yet summing to one again."""
        chances = scores.softmax(-1)
        if self.top_k is not None:
            least = chances.topk(min(self.top_k, chances.shape[-1]), -1).values[:, -1:]
            chances = chances.where(chances >= least, 0)
        if self.top_p is not None:
            ordered, places = (chances / chances.sum(-1, keepdim=True)).sort(-1, descending=True)
            before = ordered.cumsum(-1) - ordered  # the mass of all that are likelier
            chances = chances.masked_fill(
                torch.zeros_like(before, dtype=torch.bool).scatter(-1, places, before >= self.top_p), 0
            )
        if self.min_p is not None:
            chances = chances.where(chances >= self.min_p * chances.amax(-1, keepdim=True), 0)
        return chances

    def _less_repetition(self, scores: Scores, written: list[list[int]]) -> Scores:
        if self.repetition == 1.0:
            return scores
        scores = scores.clone()
        for row, tokens in enumerate(written):
            seen = torch.tensor(sorted(set(tokens)), dtype=torch.long, device=scores.device)
            before = scores[row, seen]
            scores[row, seen] = torch.where(before > 0, before / self.repetition, before * self.repetition)
        return scores
