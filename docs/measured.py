"""Small measurements of single parts with random weights, for the pages on mechanisms: python docs/measured.py

They need no data and take seconds. What a part is worth in training is asked by `regard study ablate` instead.
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
    """The largest of 256 weights, by the size of a head, with scores as they are and divided by its root."""
    found: dict[str, list[float]] = {"size": [], "unscaled": [], "scaled": []}
    for size in (4, 16, 64, 256):
        q, k = torch.randn(2, 1, 8, 256, size)
        found["size"].append(size)
        for name, factor in (("unscaled", 1.0), ("scaled", None)):
            _, pattern = Full(scale=factor).build(8, size).watch(q, k, k)
            found[name].append(pattern.max(-1).values.mean().item())
    return found


def residuals() -> dict[str, list[float]]:
    """How alike the tokens of a text have become after so many blocks: mean cosine between their states."""
    found: dict[str, list[float]] = {"depth": list(DEPTHS)}
    for name, wiring in (("pre-norm", PreNorm()), ("post-norm", PostNorm()), ("no residuals", NoResidual())):
        found[name] = []
        for depth in DEPTHS:
            states = stack(SequenceTrunk(width=WIDTH, layers=depth, wiring=wiring, dropout=0.0))(randn())
            one = torch.nn.functional.normalize(states, dim=-1)
            found[name].append(off_diagonal(one @ one.transpose(-2, -1)).mean().item())
    return found


def norms() -> dict[str, list[float]]:
    """The size of the stream (root mean square) after so many blocks whose weights are larger than usual."""
    found: dict[str, list[float]] = {"depth": list(DEPTHS[:4])}
    for name, norm in (("LayerNorm", LayerNorm()), ("no norm", NoNorm())):
        found[name] = []
        for depth in DEPTHS[:4]:
            layers = stack(SequenceTrunk(width=WIDTH, layers=depth, norm=norm, dropout=0.0), times=2.0)
            layers.norm = torch.nn.Identity()
            found[name].append(layers(randn()).square().mean().sqrt().item())
    return found


def feed() -> dict[str, float]:
    """How far a stack is from linear while its patterns are held fixed: f(x) + f(z) beside f(x + z), relative."""
    found = {}
    for name, kind in (("attention only", NoFeed()), ("with feed-forward", GELU())):
        even = Full(scale=0.0)  # every score is 0, so every weight is the same whatever is read
        layers = stack(SequenceTrunk(width=WIDTH, attention=even, feed=kind, norm=NoNorm(), bias=False, dropout=0.0))
        x, z = randn(), randn()
        found[name] = ((layers(x) + layers(z) - layers(x + z)).norm() / layers(x + z).norm()).item()
    return found


def masks() -> dict[str, float]:
    """How far the first half of the answers moves when the second half of the text is replaced."""
    layers = stack(SequenceTrunk(width=WIDTH, dropout=0.0))
    x = torch.randn(1, TOKENS, WIDTH)
    other = torch.cat([x[:, : TOKENS // 2], torch.randn(1, TOKENS // 2, WIDTH)], 1)
    moved = {}
    for name, mask in (("no mask", None), ("Causal", Causal())):
        change = layers(x, mask) - layers(other, mask)
        moved[name] = change[:, : TOKENS // 2].abs().max().item()
    return moved


def positions() -> dict[str, float]:
    """How far an encoder's answers, put back in order, differ when the words of a text are shuffled."""
    order = torch.randperm(12)
    moved = {}
    for position in (NoPosition(), Sinusoid()):
        model = BERT(vocab=50, width=WIDTH, position=position, dropout=0.0).build().eval()
        tokens = torch.randint(50, (1, 12))
        moved[type(position).__name__] = (model(tokens)[:, order] - model(tokens[:, order])).abs().max().item()
    return moved


def experts() -> dict[str, list[float]]:
    """The share of tokens that each of eight experts gets at first, and after 300 batches of leaning to the idle."""
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
    """Blocks without a position code, whose matrices keep the size of what goes through them."""
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
