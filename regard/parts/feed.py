"""Feed-forward: each token by itself is widened, passed through an activation and narrowed again (Vaswani, 2017)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least, at_most
from regard.core.sizes import MAX_HIDDEN
from regard.parts.linear import Linear

Activation = Callable[[Tensor], Tensor]


class FeedConfig(Config):
    def build(self, width: int, bias: bool = True) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its feed-forward")


@dataclass(frozen=True)
class _Plain(FeedConfig):
    """Settings that every plain feed-forward shares."""

    hidden: int | None = None  # None: four times the width

    def __post_init__(self) -> None:
        at_least(1, hidden=self.hidden)
        at_most(MAX_HIDDEN, hidden=self.hidden)

    def build(self, width: int, bias: bool = True) -> nn.Module:
        return Plain(width, self.hidden or 4 * width, self.activation, bias)

    def activation(self, x: Tensor) -> Tensor:
        raise NotImplementedError("abstract: a feed-forward has an activation")


@dataclass(frozen=True)
class ReLU(_Plain):
    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x)


@dataclass(frozen=True)
class GELU(_Plain):
    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)


@dataclass(frozen=True)
class TanhGELU(_Plain):
    """GELU by the tanh formula of GPT-2."""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")


@dataclass(frozen=True)
class SiLU(_Plain):
    def activation(self, x: Tensor) -> Tensor:
        return F.silu(x)


@dataclass(frozen=True)
class SquaredReLU(_Plain):
    """ReLU² (So et al., 2021): cheap, and sparse."""

    def activation(self, x: Tensor) -> Tensor:
        return F.relu(x).square()


@dataclass(frozen=True)
class _Gated(FeedConfig):
    hidden: int | None = None  # None: 8/3 of the width, which gives the parameters of a plain one

    def __post_init__(self) -> None:
        at_least(1, hidden=self.hidden)
        at_most(MAX_HIDDEN, hidden=self.hidden)

    def build(self, width: int, bias: bool = True) -> nn.Module:
        return Gated(width, self.hidden or -(-8 * width // 24) * 8, self.activation, bias)

    def activation(self, x: Tensor) -> Tensor:
        raise NotImplementedError("abstract: a feed-forward has an activation")


@dataclass(frozen=True)
class SwiGLU(_Gated):
    """One projection gates another (Shazeer, 2020)."""

    def activation(self, x: Tensor) -> Tensor:
        return F.silu(x)


@dataclass(frozen=True)
class GeGLU(_Gated):
    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")


@dataclass(frozen=True)
class ExactGeGLU(_Gated):
    """GeGLU by the error function, without the tanh formula."""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)


@dataclass(frozen=True)
class NoFeed(FeedConfig):
    """No feed-forward: an ablation, to measure what it is worth."""

    def build(self, width: int, bias: bool = True) -> nn.Module:
        return Zero()


Dense = ReLU | GELU | TanhGELU | SiLU | SquaredReLU | SwiGLU | GeGLU | ExactGeGLU | NoFeed


class Plain(nn.Module):
    def __init__(self, width: int, hidden: int, activation: Activation, bias: bool):
        super().__init__()
        self.up = Linear(width, hidden, bias=bias)
        self.down = Linear(hidden, width, bias=bias)
        self.activation = activation

    def forward(self, x: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        return self.down(self.activation(self.up(x)))


class Gated(nn.Module):
    def __init__(self, width: int, hidden: int, activation: Activation, bias: bool):
        super().__init__()
        self.gate = Linear(width, hidden, bias=bias)
        self.up = Linear(width, hidden, bias=bias)
        self.down = Linear(hidden, width, bias=bias)
        self.activation = activation

    def forward(self, x: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Zero(nn.Module):
    def forward(self, x: Float[Tensor, "*tokens width"]) -> Float[Tensor, "*tokens width"]:
        return x.new_zeros(x.shape)
