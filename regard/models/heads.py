"""The heads of an encoder: masked tokens, the label of a text or of each token, or none (Devlin et al., 2019)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least, at_most
from regard.core.shapes import Labels, States, Valid
from regard.core.sizes import MAX_LABELS
from regard.parts.attention.base import hide
from regard.parts.dropout import Dropout
from regard.parts.linear import Linear
from regard.parts.norms import Norm

HeadActivation = Literal["tanh", "gelu", "tanh_gelu", "relu", "silu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "tanh_gelu": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}


class HeadConfig(Config):
    def build(self, width: int, norm: Norm, dropout: float, embed_width: int | None = None) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its head")


@dataclass(frozen=True)
class MaskedLMHead(HeadConfig):
    """A score for every token of the vocabulary at every position."""

    activation: HeadActivation = "gelu"
    bias: bool = True  # of its linear layer

    def build(self, width: int, norm: Norm, dropout: float, embed_width: int | None = None) -> nn.Module:
        return MaskedLMTransform(width, embed_width or width, norm, self)


Pooling = Literal["first", "mean", "max", "mean_max"]


@dataclass(frozen=True)
class ClassifierHead(HeadConfig):
    """A score for every label of the text."""

    labels: int = 0  # 0: counted from the data when a run is made
    pooling: Pooling = "first"  # of the states: the first token's; or mean, maximum or both of all, which learns sooner
    activation: HeadActivation = "tanh"
    norm: Norm | None = None  # of the pooled state
    bias: bool = True  # of the layer between pooling and scores

    def __post_init__(self) -> None:
        at_least(0, labels=self.labels)
        at_most(MAX_LABELS, labels=self.labels)

    def build(self, width: int, norm: Norm, dropout: float, embed_width: int | None = None) -> nn.Module:
        return Classifier(width, self, dropout)


@dataclass(frozen=True)
class TokenClassifierHead(HeadConfig):
    """A score for every label at every position."""

    labels: int = 0  # 0: counted from the data when a run is made

    def __post_init__(self) -> None:
        at_least(0, labels=self.labels)

    def build(self, width: int, norm: Norm, dropout: float, embed_width: int | None = None) -> nn.Module:
        at_least(1, labels=self.labels)
        return nn.Sequential(Dropout(dropout), Linear(width, self.labels))


@dataclass(frozen=True)
class SpanHead(HeadConfig):
    """Two scores at every position: that an answer starts there, and that it ends there (Rajpurkar et al., 2016)."""

    def build(self, width: int, norm: Norm, dropout: float, embed_width: int | None = None) -> nn.Module:
        return nn.Sequential(Dropout(dropout), Linear(width, 2))


@dataclass(frozen=True)
class NoHead(HeadConfig):
    """The states of every token, as they are."""

    def build(self, width: int, norm: Norm, dropout: float, embed_width: int | None = None) -> nn.Module:
        return nn.Identity()


Head = MaskedLMHead | ClassifierHead | TokenClassifierHead | SpanHead | NoHead


class MaskedLMTransform(nn.Module):
    """One more layer; the token embedding then scores its states."""

    def __init__(self, width: int, embed_width: int, norm: Norm, config: MaskedLMHead):
        super().__init__()
        self.dense = Linear(width, embed_width, bias=config.bias)
        self.activation = ACTIVATIONS[config.activation]
        self.norm = norm.build(embed_width)

    def forward(self, states: States) -> Float[Tensor, "batch length embed"]:
        normed: Tensor = self.norm(self.activation(self.dense(states)))
        return normed


class Classifier(nn.Module):
    def __init__(self, width: int, config: ClassifierHead, dropout: float):
        super().__init__()
        at_least(1, labels=config.labels)
        self.pooling, self.activation = config.pooling, ACTIVATIONS[config.activation]
        self.pool = Linear(2 * width if self.pooling == "mean_max" else width, width, bias=config.bias)
        self.norm = nn.Identity() if config.norm is None else config.norm.build(width)
        self.drop = Dropout(dropout)
        self.label = Linear(width, config.labels)

    def forward(self, states: States, valid: Valid | None = None) -> Labels:
        return self.label(self.drop(self.norm(self.activation(self.pool(self._whole(states, valid))))))

    def _whole(self, states: States, valid: Valid | None) -> Float[Tensor, "batch pooled"]:
        if self.pooling == "first":
            return states[:, 0]
        pooled = [POOLS[kind](states, valid) for kind in self.pooling.split("_")]
        return pooled[0] if len(pooled) == 1 else torch.cat(pooled, -1)


def _mean(states: States, valid: Valid | None) -> Float[Tensor, "batch width"]:
    if valid is None:
        return states.mean(1)
    return (states * valid[:, :, None]).sum(1) / valid.sum(1, keepdim=True).clamp(min=1)


def _max(states: States, valid: Valid | None) -> Float[Tensor, "batch width"]:
    if valid is None:
        return states.amax(1)
    seen = valid | ~valid.any(1, keepdim=True)  # a text of padding alone is no error
    return hide(states, seen[:, :, None]).amax(1)


POOLS = {"mean": _mean, "max": _max}
