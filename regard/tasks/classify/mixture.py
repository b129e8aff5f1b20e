"""How much the network and the n-gram model count in a prediction, fitted on held-out texts.

Both weights together also set the temperature of the probabilities (Guo et al., 2017). The network counts only where
held-out texts show that it helps: by no more errors, and by a likelihood that is better by more than its standard
error. With a handful of held-out texts that is rarely so, and the n-gram model decides alone.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.core.config import Config
from regard.core.errors import not_negative

PENALTY = 1.0  # nats that a weight of 0 or 2 costs, whatever the number of texts

Scores = Float[Tensor, "text label"]


@dataclass(frozen=True)
class Mixture(Config):
    """Weights of the two sets of scores; they are fitted when training ends."""

    network: float = 1.0
    ngrams: float = 1.0

    def __post_init__(self) -> None:
        not_negative(network=self.network, ngrams=self.ngrams)

    def mix(self, network: Scores, ngrams: Scores | None) -> Scores:
        mixed = self.network * network.float()
        return mixed if ngrams is None else mixed + self.ngrams * ngrams


def fit_mixture(network: Scores, ngrams: Scores | None, labels: Int[Tensor, " text"]) -> Mixture:
    """The weights that make the labels of held-out texts most probable."""
    if not len(labels):
        return Mixture()
    if ngrams is None:
        return _fit([network], labels, (1.0, 0.0))
    both, alone = _fit([network, ngrams], labels, (1.0, 1.0)), _fit([ngrams], labels, (0.0, 1.0))
    gain = _losses(alone, network, ngrams, labels) - _losses(both, network, ngrams, labels)
    error = gain.std(correction=0) / len(gain) ** 0.5
    right = [(mixture.mix(network, ngrams).argmax(-1) == labels).sum() for mixture in (both, alone)]
    return both if right[0] >= right[1] and gain.mean() > error else alone


def _losses(mixture: Mixture, network: Scores, ngrams: Scores, labels: Tensor) -> Float[Tensor, " text"]:
    return F.cross_entropy(mixture.mix(network, ngrams), labels, reduction="none")


def _fit(scores: list[Scores], labels: Tensor, used: tuple[float, float]) -> Mixture:
    log_weights = torch.zeros(len(scores), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([log_weights], max_iter=60, line_search_fn="strong_wolfe")
    stacked = torch.stack([one.double() for one in scores])

    def closure() -> Tensor:
        optimiser.zero_grad()
        weights = log_weights.exp()
        loss = F.cross_entropy((weights[:, None, None] * stacked).sum(0), labels, reduction="sum")
        loss = loss + PENALTY * (weights - 1).square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    fitted = iter(log_weights.detach().exp().tolist())
    network, ngrams = (round(next(fitted), 4) if one else 0.0 for one in used)
    return Mixture(network, ngrams)
