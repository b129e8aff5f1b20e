"""Small measurements of single parts with random weights, for the mechanism pages: python docs/measured.py

They need no data and take seconds. `regard study ablate` measures what a part is worth in training.
"""

import json
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from regard.core.modules import after_step
from regard.models import BERT
from regard.parts import (
    GELU,
    Causal,
    Experts,
    Full,
    LayerNorm,
    NoFeed,
    NoNorm,
    NoPosition,
    NoResidual,
    PostNorm,
    PreNorm,
    Sinusoid,
)
from regard.parts.blocks import Stack
from regard.parts.trunk import SequenceTrunk

HERE = Path(__file__).parent / "measured.json"
DEPTHS = (1, 2, 4, 8, 16, 32)
WIDTH, TOKENS = 64, 32


def scale() -> dict[str, list[float]]:
    """The largest of 256 weights by head size, with scores divided by its square root and without."""
    found: dict[str, list[float]] = {"size": [], "unscaled": [], "scaled": []}
    for size in (4, 16, 64, 256):
        q, k = torch.randn(2, 1, 8, 256, size)
        found["size"].append(size)
        for name, factor in (("unscaled", 1.0), ("scaled", None)):
            _, pattern = Full(scale=factor).build(8, size).watch(q, k, k)
            found[name].append(pattern.max(-1).values.mean().item())
    return found


def residuals() -> dict[str, list[float]]:
    """Mean cosine similarity between the states of a text, by the number of blocks."""
    found: dict[str, list[float]] = {"depth": list(DEPTHS)}
    for name, wiring in (("pre-norm", PreNorm()), ("post-norm", PostNorm()), ("no residuals", NoResidual())):
        found[name] = []
        for depth in DEPTHS:
            states = stack(SequenceTrunk(width=WIDTH, layers=depth, wiring=wiring, dropout=0.0))(randn())
            one = torch.nn.functional.normalize(states, dim=-1)
            found[name].append(off_diagonal(one @ one.transpose(-2, -1)).mean().item())
    return found


def norms() -> dict[str, list[float]]:
    """Root mean square of the residual stream by the number of blocks, with weights larger than usual."""
    found: dict[str, list[float]] = {"depth": list(DEPTHS[:4])}
    for name, norm in (("LayerNorm", LayerNorm()), ("no norm", NoNorm())):
        found[name] = []
        for depth in DEPTHS[:4]:
            layers = stack(SequenceTrunk(width=WIDTH, layers=depth, norm=norm, dropout=0.0), times=2.0)
            layers.norm = torch.nn.Identity()
            found[name].append(layers(randn()).square().mean().sqrt().item())
    return found


def feed() -> dict[str, float]:
    """Deviation of a stack with fixed patterns from linearity: f(x) + f(z) - f(x + z), relative."""
    found = {}
    for name, kind in (("attention only", NoFeed()), ("with feed-forward", GELU())):
        even = Full(scale=0.0)  # every score is 0, so the pattern is uniform for every input
        layers = stack(SequenceTrunk(width=WIDTH, attention=even, feed=kind, norm=NoNorm(), bias=False, dropout=0.0))
        x, z = randn(), randn()
        found[name] = ((layers(x) + layers(z) - layers(x + z)).norm() / layers(x + z).norm()).item()
    return found


def masks() -> dict[str, float]:
    """Largest change of the outputs in the first half when the second half of the text is replaced."""
    layers = stack(SequenceTrunk(width=WIDTH, dropout=0.0))
    x = torch.randn(1, TOKENS, WIDTH)
    other = torch.cat([x[:, : TOKENS // 2], torch.randn(1, TOKENS // 2, WIDTH)], 1)
    moved = {}
    for name, mask in (("no mask", None), ("Causal", Causal())):
        change = layers(x, mask) - layers(other, mask)
        moved[name] = change[:, : TOKENS // 2].abs().max().item()
    return moved


def positions() -> dict[str, float]:
    """Largest difference of an encoder's outputs, put back in order, when the words of a text are shuffled."""
    order = torch.randperm(12)
    moved = {}
    for position in (NoPosition(), Sinusoid()):
        model = BERT(vocab=50, width=WIDTH, position=position, dropout=0.0).build().eval()
        tokens = torch.randint(50, (1, 12))
        moved[type(position).__name__] = (model(tokens)[:, order] - model(tokens[:, order])).abs().max().item()
    return moved


def experts() -> dict[str, list[float]]:
    """The share of tokens of each of eight experts at the start, and after 300 steps of the router bias."""
    mixture = Experts(count=8, active=2, bias_rate=3e-3).build(WIDTH).train()
    centre = torch.randn(WIDTH)  # tokens have something in common, as real ones do
    shares = []
    for _ in range(300):
        tokens = torch.randn(1, 256, WIDTH) + centre
        chosen = (mixture.router(tokens[0]).softmax(-1) + mixture.router_bias).topk(2, -1).indices
        shares.append((torch.bincount(chosen.flatten(), minlength=8) / chosen.numel()).tolist())
        mixture(tokens)
        after_step(mixture)
    return {"first": shares[0], "last": shares[-1]}


def randn() -> Tensor:
    return torch.randn(4, TOKENS, WIDTH)


def stack(trunk: SequenceTrunk, times: float = 1.0) -> Stack:
    """Blocks without a position encoding, whose matrices preserve the scale of their inputs."""
    layers = replace(trunk, position=NoPosition()).stack(causal=False)
    for parameter in layers.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=times * parameter.shape[1] ** -0.5)
    return layers


def off_diagonal(square: Tensor) -> Tensor:
    return square[:, ~torch.eye(square.shape[-1], dtype=torch.bool)]


MEASUREMENTS = (scale, residuals, norms, feed, masks, positions, experts)


def measure() -> dict[str, dict[str, object]]:
    found = {}
    for one in MEASUREMENTS:
        torch.manual_seed(0)
        with torch.no_grad():
            found[one.__name__] = dict(one())
    return found


if __name__ == "__main__":
    HERE.write_text(json.dumps(measure(), indent=1) + "\n")
