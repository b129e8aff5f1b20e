"""BERT: an encoder by itself, which fills hidden words or names a text's label (Devlin et al., 2019)."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.errors import at_least
from regard.core.shapes import Labels, Logits, States, Tokens, Valid
from regard.parts.attention.base import hide
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.masks import Mask, Padding
from regard.parts.norms import Norm
from regard.parts.positions import Learned, Position, Positions
from regard.parts.trunk import Trunk
from regard.parts.wiring import PostNorm, Wiring


@dataclass(frozen=True)
class MaskedLMHead:
    """Score every word of the vocabulary at every place."""

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        return MaskedLMTransform(width, norm)


Pooling = Literal["first", "mean", "max"]


@dataclass(frozen=True)
class ClassifierHead:
    """Score the labels of the whole text."""

    labels: int = 0  # 0: counted from the data when a run is made
    pooling: Pooling = "first"  # the state of the first token; or the mean or the maximum of all, which learns sooner

    def __post_init__(self) -> None:
        at_least(0, labels=self.labels)

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        return Classifier(width, self.labels, self.pooling, dropout)


@dataclass(frozen=True)
class NoHead:
    """No head: the states of every token, for whoever reads them."""

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        return nn.Identity()


Head = MaskedLMHead | ClassifierHead | NoHead


@dataclass(frozen=True, kw_only=True)
class BERT(Trunk):
    vocab: int = 0  # 0: counted from the data when a run is made
    segments: int = 2  # kinds of sentence in a pair
    position: Position = Learned(512)
    wiring: Wiring = PostNorm()
    head: Head = MaskedLMHead()

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)
        at_least(1, segments=self.segments)

    def build(self) -> "BERTModel":
        return BERTModel(self)


class BERTModel(nn.Module):
    def __init__(self, config: BERT):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab, config.width, bias=isinstance(config.head, MaskedLMHead))
        self.segment = nn.Embedding(config.segments, config.width)
        self.norm = config.norm.build(config.width)
        self.drop = Dropout(config.dropout)
        self.encoder = config.stack(causal=False)
        self.head = config.head.build(config.width, config.norm, config.dropout)
        init_weights(self, self.encoder.blocks, quiet=config.quiet)

    def forward(
        self,
        tokens: Tokens,
        valid: Valid | None = None,
        segments: Tokens | None = None,
        positions: Positions | None = None,
        chosen: Int[Tensor, "batch chosen"] | None = None,
    ) -> Logits | Labels | States | Float[Tensor, "batch chosen vocab"]:
        """What the head says. With `chosen` it is asked at these positions only, as words are dear to score."""
        states = self.read(tokens, valid, segments, positions)
        if chosen is not None:
            states = states.gather(1, chosen[..., None].expand(-1, -1, states.shape[-1]))
        if isinstance(self.head, MaskedLMTransform):
            return self.embedding.logits(self.head(states))
        return self.head(states, valid) if isinstance(self.head, Classifier) else self.head(states)

    def read(
        self,
        tokens: Tokens,
        valid: Valid | None = None,
        segments: Tokens | None = None,
        positions: Positions | None = None,
    ) -> States:
        positions = positions or Positions.counting(tokens.shape[1], device=tokens.device)
        segments = torch.zeros_like(tokens) if segments is None else segments
        x = self.encoder.position.embed(self.embedding(tokens) + self.segment(segments), positions)
        mask: Mask | None = None if valid is None else Padding(valid)
        return self.encoder(self.drop(self.norm(x)), mask, positions)


class MaskedLMTransform(nn.Module):
    """States once more transformed; the words' own table then scores them."""

    def __init__(self, width: int, norm: Norm):
        super().__init__()
        self.dense = Linear(width, width)
        self.norm = norm.build(width)

    def forward(self, states: States) -> States:
        return self.norm(F.gelu(self.dense(states)))


class Classifier(nn.Module):
    def __init__(self, width: int, labels: int, pooling: Pooling, dropout: float):
        super().__init__()
        at_least(1, labels=labels)
        self.pooling = pooling
        self.pool = Linear(width, width)
        self.drop = Dropout(dropout)
        self.label = Linear(width, labels)

    def forward(self, states: States, valid: Valid | None = None) -> Labels:
        return self.label(self.drop(torch.tanh(self.pool(self._whole(states, valid)))))

    def _whole(self, states: States, valid: Valid | None) -> Float[Tensor, "batch width"]:
        if self.pooling == "first":
            return states[:, 0]
        if valid is None:
            return states.mean(1) if self.pooling == "mean" else states.amax(1)
        if self.pooling == "max":
            seen = valid | ~valid.any(1, keepdim=True)  # a text of padding alone is nothing, but not an error
            return hide(states, seen[:, :, None]).amax(1)
        return (states * valid[:, :, None]).sum(1) / valid.sum(1, keepdim=True).clamp(min=1)
