"""BERT: an encoder-only Transformer, which predicts masked tokens or the label of a text (Devlin et al., 2019)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.errors import at_least, at_most
from regard.core.shapes import Labels, Logits, States, Tokens, Valid
from regard.core.sizes import MAX_LABELS, MAX_WIDTH
from regard.models.heads import Classifier, ClassifierHead, Head, MaskedLMHead, MaskedLMTransform
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.masks import Mask, Padding
from regard.parts.neighbours import Neighbours
from regard.parts.positions import Learned, Position, Positions
from regard.parts.trunk import SequenceTrunk
from regard.parts.wiring import PostNorm, Wiring


@dataclass(frozen=True, kw_only=True)
class BERT(SequenceTrunk):
    reads_trees = True
    embeds_text = True

    vocab: int = 0  # 0: counted from the data when a run is made
    segments: int = 2  # kinds of sentence in a pair; 0: no kinds
    embed_width: int | None = None  # of the embeddings, where a linear layer leads from them to the width
    position: Position = Learned(512)
    neighbours: Neighbours | None = None  # convolutions over the embeddings, before attention
    wiring: Wiring = PostNorm()
    head: Head = MaskedLMHead()

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)
        at_least(0, segments=self.segments)
        at_least(1, embed_width=self.embed_width)
        at_most(MAX_WIDTH, embed_width=self.embed_width)
        at_most(MAX_LABELS, segments=self.segments)

    @property
    def fills_masks(self) -> bool:
        return isinstance(self.head, MaskedLMHead)

    @property
    def classifies_text(self) -> bool:
        return isinstance(self.head, ClassifierHead)

    @property
    def head_weights(self) -> tuple[str, ...]:
        return () if self.fills_masks else ("head.",)

    def build(self) -> "BERTModel":
        return BERTModel(self)


class BERTModel(nn.Module):
    def __init__(self, config: BERT):
        super().__init__()
        self.config = config
        width = config.embed_width or config.width
        self.embedding = TokenEmbedding(config.vocab, width, bias=isinstance(config.head, MaskedLMHead))
        self.segment = nn.Embedding(config.segments, width) if config.segments else None
        self.neighbours = None if config.neighbours is None else config.neighbours.build(width)
        self.norm = config.norm.build(width)
        self.widen = nn.Identity() if config.embed_width is None else Linear(width, config.width)
        self.drop = Dropout(config.dropout)
        self.encoder = config.stack(causal=False, embed_width=width)
        self.head = config.head.build(config.width, config.norm, config.dropout, width)
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
        x = self.embedding(tokens)
        if self.segment is not None:
            x = x + self.segment(torch.zeros_like(tokens) if segments is None else segments)
        if self.neighbours is not None:
            x = self.drop(x)
            x = x + self.neighbours(x, valid)
        x = self.widen(self.drop(self.norm(self.encoder.position.embed(x, positions))))
        mask: Mask | None = None if valid is None else Padding(valid)
        return self.encoder(x, mask, positions)
