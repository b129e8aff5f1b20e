"""Optimisers: AdamW for everything, or Muon for the matrices inside blocks and AdamW for the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import not_negative, share
from regard.core.modules import AdamWOnly, RepeatedBlock
from regard.train.muon import MuonOptimiser


class OptimiserConfig(Config):
    """The family of optimisers; one of your own inherits from a member."""


@dataclass(frozen=True)
class AdamW(OptimiserConfig):
    """Adam with decoupled weight decay, applied to matrices only (Loshchilov & Hutter, 2019)."""

    lr: float = 1e-3
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.98
    eps: float = 1e-9

    def __post_init__(self) -> None:
        share(beta1=self.beta1, beta2=self.beta2)
        not_negative(lr=self.lr, weight_decay=self.weight_decay, eps=self.eps)

    def build(self, model: nn.Module) -> "Optimisers":
        return Optimisers(model, [(self.over(trained(model.parameters())), self.lr)])

    def over(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        matrices = [p for p in parameters if p.dim() >= 2]
        others = [p for p in parameters if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": self.weight_decay}, {"params": others, "weight_decay": 0.0}]
        filled = [group for group in groups if group["params"]]
        return torch.optim.AdamW(filled, lr=self.lr, betas=(self.beta1, self.beta2), eps=self.eps, fused=True)


@dataclass(frozen=True)
class Muon(OptimiserConfig):
    """Orthogonalised momentum for the matrices inside blocks (Jordan et al., 2024); AdamW for all other parameters."""

    lr: float = 0.02
    weight_decay: float = 0.01
    momentum: float = 0.95
    adamw: AdamW = AdamW()

    def __post_init__(self) -> None:
        share(momentum=self.momentum)
        not_negative(lr=self.lr, weight_decay=self.weight_decay)

    def build(self, model: nn.Module) -> "Optimisers":
        inside = trained(matrices_of_blocks(model))
        chosen = {id(p) for p in inside}
        rest = [p for p in trained(model.parameters()) if id(p) not in chosen]
        pairs: list[tuple[torch.optim.Optimizer, float]] = []
        if inside:
            pairs.append((MuonOptimiser(inside, self.lr, self.weight_decay, self.momentum), self.lr))
        if rest:
            pairs.append((self.adamw.over(rest), self.adamw.lr))
        return Optimisers(model, pairs)


Optimiser = AdamW | Muon


def trained(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    """Those that are not frozen."""
    return [parameter for parameter in parameters if parameter.requires_grad]


def matrices_of_blocks(model: nn.Module) -> list[nn.Parameter]:
    """Weights of the linear layers inside blocks: no embeddings, no output heads, no router of experts."""
    return [
        cast(nn.Parameter, layer.weight)
        for block in model.modules()
        if isinstance(block, RepeatedBlock)
        for layer in block.modules()
        if isinstance(layer, nn.Linear) and not isinstance(layer, AdamWOnly)
    ]


class Optimisers:
    """One or more optimisers used as one; their state is a flat dictionary of named tensors."""

    def __init__(self, model: nn.Module, parts: Iterable[tuple[torch.optim.Optimizer, float]]):
        self.parts = list(parts)
        self.names = {id(p): name for name, p in model.named_parameters()}

    def step(self, multiplier: float) -> None:
        """One step at this multiple of each peak learning rate."""
        for optimiser, lr in self.parts:
            for group in optimiser.param_groups:
                group["lr"] = lr * multiplier
            optimiser.step()

    def learning_rates(self, multiplier: float) -> dict[str, float]:
        """The current learning rate, and that of AdamW where it accompanies Muon."""
        return {name: lr * multiplier for name, (_, lr) in zip(("lr", "lr_adamw"), self.parts, strict=False)}

    def clear(self) -> None:
        for optimiser, _ in self.parts:
            optimiser.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        return {
            f"{self.names[id(p)]}/{key}": value
            for optimiser, _ in self.parts
            for p, values in optimiser.state.items()
            for key, value in values.items()
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        for optimiser, _ in self.parts:
            for p in (p for group in optimiser.param_groups for p in group["params"]):
                start = f"{self.names[id(p)]}/"
                values = {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}
                if values:
                    optimiser.state[p] = {key: value.to(p.device) for key, value in values.items()}
