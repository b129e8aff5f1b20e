"""BERT: an encoder-only Transformer, which predicts masked tokens or the label of a text (Devlin et al., 2019)."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import at_least, at_most
from regard.core.shapes import Labels, Logits, States, Tokens, Valid
from regard.core.sizes import MAX_LABELS
from regard.parts.attention.base import hide
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.masks import Mask, Padding
from regard.parts.norms import Norm
from regard.parts.positions import Learned, Position, Positions
from regard.parts.trunk import SequenceTrunk
from regard.parts.wiring import PostNorm, Wiring


class HeadConfig(Config):
    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its head")


@dataclass(frozen=True)
class MaskedLMHead(HeadConfig):
    """A score for every token of the vocabulary at every position."""

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        return MaskedLMTransform(width, norm)


Pooling = Literal["first", "mean", "max"]


@dataclass(frozen=True)
class ClassifierHead(HeadConfig):
    """A score for every label of the text."""

    labels: int = 0  # 0: counted from the data when a run is made
    pooling: Pooling = "first"  # of the states: the first token's; or the mean or maximum of all, which learns sooner

    def __post_init__(self) -> None:
        at_least(0, labels=self.labels)
        at_most(MAX_LABELS, labels=self.labels)

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        return Classifier(width, self.labels, self.pooling, dropout)


@dataclass(frozen=True)
class TokenClassifierHead(HeadConfig):
    """A score for every label at every position."""

    labels: int = 0  # 0: counted from the data when a run is made

    def __post_init__(self) -> None:
        at_least(0, labels=self.labels)

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        at_least(1, labels=self.labels)
        return nn.Sequential(Dropout(dropout), Linear(width, self.labels))


@dataclass(frozen=True)
class NoHead(HeadConfig):
    """The states of every token, as they are."""

    def build(self, width: int, norm: Norm, dropout: float) -> nn.Module:
        return nn.Identity()


Head = MaskedLMHead | ClassifierHead | TokenClassifierHead | NoHead


@dataclass(frozen=True, kw_only=True)
class BERT(SequenceTrunk):
    reads_trees = True

    vocab: int = 0  # 0: counted from the data when a run is made
    segments: int = 2  # kinds of sentence in a pair
    position: Position = Learned(512)
    wiring: Wiring = PostNorm()
    head: Head = MaskedLMHead()

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)
        at_least(1, segments=self.segments)
        at_most(MAX_LABELS, segments=self.segments)

    @property
    def fills_masks(self) -> bool:
        return isinstance(self.head, MaskedLMHead)

    @property
    def classifies_text(self) -> bool:
        return isinstance(self.head, ClassifierHead)

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
        init_weights(self, self.encoder.blocks, init=config.init)

    def forward(
        self,
        tokens: Tokens,
        valid: Valid | None = None,
        segments: Tokens | None = None,
        positions: Positions | None = None,
        chosen: Int[Tensor, "batch chosen"] | None = None,
    ) -> Logits | Labels | States | Float[Tensor, "batch chosen vocab"]:
        """The scores of the head; with `chosen` at these positions only, as scoring a whole vocabulary is expensive."""
        states = self.read(tokens, valid, segments, positions)
        if chosen is not None:
            states = states.gather(1, chosen[..., None].expand(-1, -1, states.shape[-1]))
        if isinstance(self.head, MaskedLMTransform):
            return self.embedding.logits(self.head(states))
        scores: Tensor = self.head(states, valid) if isinstance(self.head, Classifier) else self.head(states)
        return scores

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
    """One more layer; the token embedding then scores its states."""

    def __init__(self, width: int, norm: Norm):
        super().__init__()
        self.dense = Linear(width, width)
        self.norm = norm.build(width)

    def forward(self, states: States) -> States:
        normed: Tensor = self.norm(F.gelu(self.dense(states)))
        return normed


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
            seen = valid | ~valid.any(1, keepdim=True)  # a text of padding alone is no error
            return hide(states, seen[:, :, None]).amax(1)
        return (states * valid[:, :, None]).sum(1) / valid.sum(1, keepdim=True).clamp(min=1)
