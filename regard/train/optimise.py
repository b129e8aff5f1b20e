"""Optimisers: AdamW for everything, or Muon for the matrices inside blocks and AdamW for the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from regard.core.errors import not_negative, share
from regard.parts.blocks import Sublayers


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled decay of matrices (Loshchilov & Hutter, 2019)."""

    rate: float = 1e-3
    decay: float = 0.01
    beta: float = 0.9
    beta2: float = 0.98
    eps: float = 1e-9

    def __post_init__(self) -> None:
        share(beta=self.beta, beta2=self.beta2)
        not_negative(rate=self.rate, decay=self.decay, eps=self.eps)

    def build(self, model: nn.Module) -> "Optimisers":
        return Optimisers(model, [(self._for(list(model.parameters())), self.rate)])

    def _for(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        matrices = [p for p in parameters if p.dim() >= 2]
        others = [p for p in parameters if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": self.decay}, {"params": others, "weight_decay": 0.0}]
        filled = [group for group in groups if group["params"]]
        return torch.optim.AdamW(filled, lr=self.rate, betas=(self.beta, self.beta2), eps=self.eps, fused=True)


@dataclass(frozen=True)
class Muon:
    """Steps of equal size in every direction of a matrix (Jordan et al., 2024); the rest goes to AdamW."""

    rate: float = 0.02
    decay: float = 0.01
    momentum: float = 0.95
    rest: AdamW = AdamW()

    def __post_init__(self) -> None:
        share(momentum=self.momentum)
        not_negative(rate=self.rate, decay=self.decay)

    def build(self, model: nn.Module) -> "Optimisers":
        inside = matrices_of_blocks(model)
        chosen = {id(p) for p in inside}
        rest = [p for p in model.parameters() if id(p) not in chosen]
        pairs: list[tuple[torch.optim.Optimizer, float]] = []
        if inside:
            muon = torch.optim.Muon(inside, lr=self.rate, weight_decay=self.decay, momentum=self.momentum)
            pairs.append((muon, self.rate))
        if rest:
            pairs.append((self.rest._for(rest), self.rest.rate))
        return Optimisers(model, pairs)


Optimiser = AdamW | Muon


def matrices_of_blocks(model: nn.Module) -> list[nn.Parameter]:
    """Weights of the linear layers inside blocks: not embeddings, not heads, not the router's small matrix."""
    return [
        cast(nn.Parameter, layer.weight)
        for block in model.modules()
        if isinstance(block, Sublayers)
        for name, layer in block.named_modules()
        if isinstance(layer, nn.Linear) and not name.endswith("router")
    ]


class Optimisers:
    """One or more optimisers as one, whose state is a flat dictionary of named tensors."""

    def __init__(self, model: nn.Module, parts: Iterable[tuple[torch.optim.Optimizer, float]]):
        self.parts = list(parts)
        self.names = {id(p): name for name, p in model.named_parameters()}

    def step(self, share: float) -> None:
        """One step at this share of each peak rate."""
        for optimiser, rate in self.parts:
            for group in optimiser.param_groups:
                group["lr"] = rate * share
            optimiser.step()

    def rates(self, share: float) -> dict[str, float]:
        """The learning rate at this share of its peak, and that of the rest where the rest has its own."""
        return {name: rate * share for name, (_, rate) in zip(("rate", "rate_rest"), self.parts, strict=False)}

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

    def set_state(self, state: Mapping[str, Tensor]) -> None:
        for optimiser, _ in self.parts:
            for p in (p for group in optimiser.param_groups for p in group["params"]):
                start = f"{self.names[id(p)]}/"
                kept = {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}
                if kept:
                    optimiser.state[p] = {key: value.to(p.device) for key, value in kept.items()}
