"""Mixture of experts: each token goes to a few of many feed-forwards (Shazeer et al., 2017).

No expert has a capacity, so no token is ever dropped. Load is balanced by a bias per expert, added to the scores that
choose (not to the weights that mix) and raised for idle experts after each step of training (Wang et al., 2024): the
loss has no extra term.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.compiling import never_compiled
from regard.core.errors import MANY, ConfigError, at_most
from regard.core.modules import AdamWOnly, SumOverRanks, UpdatedAfterStep
from regard.parts.feed import Dense, FeedConfig, SwiGLU


@dataclass(frozen=True)
class Experts(FeedConfig):
    count: int = 8
    active: int = 2  # experts that each token visits
    bias_rate: float = 1e-3  # how far a step moves the router's bias
    expert: Dense = SwiGLU()
    mixed_over: Literal["chosen", "all"] = "chosen"  # whose scores the softmax of the weights is taken over

    def __post_init__(self) -> None:
        if not 1 <= self.active <= self.count:
            raise ConfigError(f"active {self.active} must be between 1 and count {self.count}")
        at_most(MANY, count=self.count)

    def build(self, width: int, bias: bool = True) -> "MixtureOfExperts":
        return MixtureOfExperts(self, width, bias)


class Router(nn.Linear, AdamWOnly):
    """A score for each expert."""


class MixtureOfExperts(UpdatedAfterStep):
    router_bias: Tensor
    visits: Tensor

    def __init__(self, config: Experts, width: int, bias: bool):
        super().__init__()
        self.active, self.bias_rate = config.active, config.bias_rate
        self.mixes_chosen = config.active > 1 and config.mixed_over == "chosen"
        self.router = Router(width, config.count, bias=False)
        self.experts = nn.ModuleList(config.expert.build(width, bias) for _ in range(config.count))
        self.register_buffer("router_bias", torch.zeros(config.count))
        self.register_buffer(
            "visits", torch.zeros(config.count), persistent=False
        )  # of each expert since the last step

    @never_compiled  # how many tokens an expert gets is known only while running
    def forward(self, x: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        tokens = x.flatten(0, -2)
        scores = self.router(tokens).float()
        affinity = scores.softmax(-1)
        chosen = (affinity + self.router_bias).topk(self.active, -1).indices
        # Several are mixed by a softmax over them, or over all; of one the affinity is the router's only gradient.
        weight = scores.gather(-1, chosen).softmax(-1) if self.mixes_chosen else affinity.gather(-1, chosen)
        mixed = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, visit = (chosen == number).nonzero(as_tuple=True)
            answer = expert(tokens[token]) * weight[token, visit, None].to(x.dtype)
            mixed = mixed.index_add(0, token, answer.to(mixed.dtype))
        if self.training:
            self.visits += torch.bincount(chosen.flatten(), minlength=len(self.visits))
        return mixed.view_as(x)

    def after_step(self, sum_over_ranks: SumOverRanks) -> None:
        visits = torch.tensor(sum_over_ranks(self.visits.tolist()), device=self.visits.device)
        self.router_bias += self.bias_rate * torch.sign(visits.mean() - visits)
        self.visits.zero_()


Feed = Dense | Experts
