"""Choosing the next token from its scores: the likeliest, or a draw among the likely ones."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.errors import ConfigError, UserError

Scores = Float[Tensor, "batch vocab"]
NextTokens = Int[Tensor, " batch"]
COLD = 1e-6  # temperatures below it: scores divided by them leave the range of numbers
Choose = Callable[[Scores, list[list[int]]], NextTokens]  # scores, and what each row has so far


def check_scores(scores: Scores) -> None:
    """Refuse rows without a largest score: the likeliest of them would be an arbitrary token."""
    if not scores.amax(-1).isfinite().all():
        raise UserError(
            "the model's scores are not finite: its weights or settings are damaged, or its training diverged"
        )


def likeliest(scores: Scores, written: list[list[int]]) -> NextTokens:
    return scores.argmax(-1)


@dataclass(frozen=True)
class Sampling:
    """A random draw. Temperature first, then whatever is too unlikely is left out, by number, by mass or by ratio."""

    temperature: float = 0.8  # below 1: fewer surprises, above 1: more; 0: always the likeliest
    top_k: int | None = None  # only the k likeliest
    top_p: float | None = None  # only the likeliest that together have this probability (Holtzman et al., 2020)
    min_p: float | None = None  # only those at least this share as likely as the likeliest
    repetition_penalty: float = 1.0  # above 1: what has been written becomes less likely (Keskar et al., 2019)
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
        if not self.repetition_penalty > 0:
            raise ConfigError(f"repetition_penalty: must be above 0, not {self.repetition_penalty}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed: must be at least 0 and below 2**63, not {self.seed}")

    def chooser(self) -> Choose:
        generator = torch.Generator()
        generator.manual_seed(self.seed) if self.seed is not None else generator.seed()

        def choose(scores: Scores, written: list[list[int]]) -> NextTokens:
            scores = self._penalised(scores.float(), written)
            if self.temperature < COLD:
                return scores.argmax(-1)
            probabilities = self.probabilities(scores / self.temperature)
            return torch.multinomial(probabilities.cpu(), 1, generator=generator)[:, 0].to(scores.device)

        return choose

    def probabilities(self, scores: Scores) -> Scores:
        """Probabilities with the unlikely ones at zero; not yet summing to one again."""
        probabilities = scores.softmax(-1)
        if self.top_k is not None:
            least = probabilities.topk(min(self.top_k, probabilities.shape[-1]), -1).values[:, -1:]
            probabilities = probabilities.where(probabilities >= least, 0)
        if self.top_p is not None:
            ordered, places = (probabilities / probabilities.sum(-1, keepdim=True)).sort(-1, descending=True)
            before = ordered.cumsum(-1) - ordered  # the mass of all that are likelier
            probabilities = probabilities.masked_fill(
                torch.zeros_like(before, dtype=torch.bool).scatter(-1, places, before >= self.top_p), 0
            )
        if self.min_p is not None:
            probabilities = probabilities.where(probabilities >= self.min_p * probabilities.amax(-1, keepdim=True), 0)
        return probabilities

    def _penalised(self, scores: Scores, written: list[list[int]]) -> Scores:
        if self.repetition_penalty == 1.0:
            return scores
        scores = scores.clone()
        for row, tokens in enumerate(written):
            seen = torch.tensor(sorted(set(tokens)), dtype=torch.long, device=scores.device)
            before = scores[row, seen]
            scores[row, seen] = torch.where(
                before > 0, before / self.repetition_penalty, before * self.repetition_penalty
            )
        return scores
