"""Mixture of experts: each token goes to a few of many feed-forwards (Shazeer et al., 2017).

No expert has a capacity, so no token is ever dropped. Balance comes from a lean per expert, added to the scores that
choose (not to the weights that mix) and nudged towards the idle ones by each batch that is learned from, or part of one
(Wang et al., 2024): the loss has no extra term.
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.errors import MANY, ConfigError, at_most
from regard.parts.feed import Dense, SwiGLU


@dataclass(frozen=True)
class Experts:
    count: int = 8
    active: int = 2  # experts that each token visits
    bias_rate: float = 1e-3  # how fast the lean follows the load
    expert: Dense = SwiGLU()

    def __post_init__(self) -> None:
        if not 1 <= self.active <= self.count:
            raise ConfigError(f"active {self.active} must be between 1 and count {self.count}")
        at_most(MANY, count=self.count)

    def build(self, width: int, bias: bool = True) -> "MixtureOfExperts":
        return MixtureOfExperts(self, width, bias)


class MixtureOfExperts(nn.Module):
    router_bias: Tensor

    def __init__(self, config: Experts, width: int, bias: bool):
        super().__init__()
        self.active, self.bias_rate = config.active, config.bias_rate
        self.router = nn.Linear(width, config.count, bias=False)
        self.experts = nn.ModuleList(config.expert.build(width, bias) for _ in range(config.count))
        self.register_buffer("router_bias", torch.zeros(config.count))

    @torch.compiler.disable  # how many tokens an expert gets is known only while running
    def forward(self, x: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        tokens = x.flatten(0, -2)
        scores = self.router(tokens).float()
        affinity = scores.softmax(-1)
        chosen = (affinity + self.router_bias).topk(self.active, -1).indices
        # Several share one; of a single expert the affinity is the only path of the gradient to the router.
        weight = scores.gather(-1, chosen).softmax(-1) if self.active > 1 else affinity.gather(-1, chosen)
        mixed = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, visit = (chosen == number).nonzero(as_tuple=True)
            answer = expert(tokens[token]) * weight[token, visit, None].to(x.dtype)
            mixed = mixed.index_add(0, token, answer.to(mixed.dtype))
        if self.training:
            load = torch.bincount(chosen.flatten(), minlength=len(self.router_bias)).float()
            if dist.is_available() and dist.is_initialized():  # ranks that share a batch lean alike
                dist.all_reduce(load)
            self.router_bias += self.bias_rate * torch.sign(load.mean() - load)
        return mixed.view_as(x)


Feed = Dense | Experts
