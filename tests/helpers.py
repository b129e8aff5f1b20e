"""What several tests share: the variants of a union, small configs of each, random inputs, and comparisons."""

import os
import subprocess
import time
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.parts import (
    Attention,
    BigBird,
    Causal,
    Compressed,
    Experts,
    Full,
    Grid,
    Learned,
    Linformer,
    Mask,
    Padding,
    Positions,
    Prefix,
    SameDocument,
    ScalableSoftmax,
    Shaw,
    T5Bias,
    Tree,
    Window,
)
from regard.parts.positions import tree_depth, tree_distance

HEADS, SIZE = 2, 8
WIDTH = HEADS * SIZE

# Configs small enough that short texts reach the sparse paths. A variant that is not listed is tested as it comes.
SMALL: dict[type, list[Any]] = {
    Full: [Full(), Full(scale=0.7), Full(scale=ScalableSoftmax())],
    Linformer: [Linformer(slots=5, length=160)],
    BigBird: [
        BigBird(block=4, window=3, globals=1, random=2),
        BigBird(block=3, window=1, globals=2, random=1, seed=5),
        BigBird(block=5, window=5, globals=0, random=0),
    ],
    Window: [Window(reach=5), Window(reach=1)],
    Compressed: [Compressed(stride=3), Compressed(stride=4)],
    Grid: [Grid(columns=5), Grid(columns=3, before=1)],
    Learned: [Learned(length=256)],
    Shaw: [Shaw(reach=3)],
    Tree: [Tree(reach=3)],
    T5Bias: [T5Bias(count=8, far=20)],
    Experts: [Experts(count=4, active=2)],
}

LONGEST_WAIT = 1500.0  # seconds; below the limit of pytest itself


def patience(seconds: float) -> float:
    """How long to wait for what takes at most `seconds` on an idle machine: much longer, and more on a busy one.

    It decides when to give up on something that hangs, never whether something was fast enough.
    """
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(5 * seconds * max(1.0, load), LONGEST_WAIT)


def wait_until(
    done: Callable[[], bool], process: subprocess.Popen[Any] | None = None, *, seconds: float = 60.0
) -> None:
    """Wait for a condition; fails if `process` ends first, or if nothing happens for very long."""
    deadline = time.monotonic() + patience(seconds)
    while not done():
        assert process is None or process.poll() is None, "the process ended by itself"
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def variants(union: Any) -> list[type]:
    """The members of a union of configs, its unions flattened: the table that a new variant joins."""
    members: list[type] = []
    for member in typing.get_args(union):
        members += variants(member) if typing.get_args(member) else [member]
    return members


def small(kind: type) -> Any:
    """One small config of a variant."""
    return SMALL[kind][0] if kind in SMALL else kind()


def every_small(union: Any) -> list[Any]:
    """Small configs of every variant, several where a variant has several ways to go."""
    return [config for kind in variants(union) for config in SMALL.get(kind) or [kind()]]


def name_of(value: Any) -> str:
    return repr(value).replace("()", "")


def over(union: Any, name: str) -> pytest.MarkDecorator:
    """Run a test for every variant of a union."""
    return pytest.mark.parametrize(name, every_small(union), ids=name_of)


def over_attention(accepts: Callable[[Any], bool] = lambda config: True) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("config", [c for c in every_small(Attention) if accepts(c)], ids=name_of)


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def build_attention(config: Any, dtype: torch.dtype = torch.float32) -> nn.Module:
    """An attention whose parameters are all random: one that is zero would hide a mistake."""
    attend = config.build(HEADS, SIZE)
    for parameter in attend.parameters():
        nn.init.normal_(parameter, std=0.3)
    return attend.to(dtype)


def lookup(length: int, batch: int = 3, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Random queries, keys and values."""
    q, k, v = torch.randn(3, batch, HEADS, length, SIZE, dtype=dtype)
    return q, k, v


def valid_of(lengths: list[int], longest: int | None = None) -> Tensor:
    """Texts of these lengths, padded on the right."""
    return torch.arange(longest or max(lengths)) < torch.tensor(lengths)[:, None]


def some_lengths(length: int) -> list[int]:
    return [length, -(-length // 2), 1]


def some_masks(config: Any, length: int) -> dict[str, Mask | None]:
    """Masks for a batch of three, as many as an attention accepts."""
    padding = Padding(valid_of(some_lengths(length)))
    prefix = Prefix(torch.tensor([1, length // 2, length]))
    masks: dict[str, Mask | None] = {"open": None, "padding": padding, "prefix": prefix}
    if config.hides_future:
        segment = (torch.arange(length) * 3 // length).expand(3, -1)
        masks |= {"causal": Causal(), "causal padding": Causal() & padding, "prefix, then causal": Causal() | prefix}
        masks |= {"packed": SameDocument(segment), "causal packed": Causal() & SameDocument(segment)}
    return masks


def some_bias(dtype: torch.dtype = torch.float32) -> nn.Module:
    """A position code whose bias differs from query to query: the hardest kind to get right."""
    return Shaw(reach=3).build(WIDTH, HEADS, SIZE, causal=False).to(dtype)


def bias_of(code: nn.Module | None) -> Any:
    return None if code is None else code.bias(Positions.counting(1))


def gradients(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The gradients of one fixed random mixture of all outputs."""
    mixture = torch.randn(output.shape, generator=torch.Generator().manual_seed(1), dtype=output.dtype)
    return list(torch.autograd.grad((output * mixture).sum(), inputs))


def random_heads(length: int, generator: torch.Generator | None = None) -> list[int]:
    """A random tree over words: each hangs from an earlier one of a random order; the first of it is the root."""
    order = torch.randperm(length, generator=generator).tolist()
    heads = [-1] * length
    for place in range(1, length):
        heads[order[place]] = order[int(torch.randint(place, (1,), generator=generator))]
    return heads


def tree_places(lengths: list[int]) -> Positions:
    """Positions of a padded batch of random trees; padding stands at the root."""
    longest = max(lengths)
    depth = torch.zeros(len(lengths), longest, dtype=torch.long)
    distance = torch.zeros(len(lengths), longest, longest, dtype=torch.long)
    for row, length in enumerate(lengths):
        heads = random_heads(length, torch.Generator().manual_seed(length))
        depth[row, :length] = torch.tensor(tree_depth(heads))
        distance[row, :length, :length] = torch.tensor(tree_distance(heads))
    return Positions(torch.arange(longest)[None], depth, distance)


def outputs_of(answer: Any) -> Iterator[Tensor]:
    """A model's answer as tensors: most give one, a table model one a column, an Evoformer two."""
    yield from answer if isinstance(answer, list | tuple) else [answer]
