"""Transformer: an encoder reads the source, a decoder writes the target and looks back (Vaswani et al., 2017)."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.errors import MANY, ConfigError, at_least, at_most
from regard.core.shapes import Logits, Memory, Source, SourceValid, Tokens
from regard.models.base import WritingModel
from regard.parts.cache import Cache
from regard.parts.copy import Copy
from regard.parts.dropout import Dropout
from regard.parts.embed import TokenEmbedding
from regard.parts.init import init_weights
from regard.parts.masks import Causal, Padding
from regard.parts.norms import Norm
from regard.parts.positions import Position, Positions, Sinusoid, Tree
from regard.parts.taps import taps
from regard.parts.trunk import SequenceTrunk

TOGETHER = 32  # sources read at once before writing: fewer are slower to multiply, more wait for the longest


@dataclass(frozen=True, kw_only=True)
class Transformer(SequenceTrunk):
    reads_source = True
    reads_trees = True

    vocab: int = 0  # 0: counted from the data when a run is made
    target_vocab: int | None = None  # None: source and target share one vocabulary and one table
    decoder_layers: int | None = None  # None: as many as the encoder
    target_position: Position | None = None  # None: as the source, or sinusoid where the source is a tree
    tied: bool = True
    embed_scale: float | None = None  # None: the square root of the width
    embed_norm: Norm | None = None  # of the embeddings, with their positions
    logit_scale: float = 1.0
    logit_bias: bool = False
    copy: Copy | None = None  # a pointer, by which words of the source can be copied

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, vocab=self.vocab)
        at_least(1, target_vocab=self.target_vocab, decoder_layers=self.decoder_layers)
        at_most(MANY, decoder_layers=self.decoder_layers)
        if self.copy is not None and self.target_vocab is not None:
            raise ConfigError("copy: source and target must share a vocabulary; remove target_vocab")

    def build(self) -> "TransformerModel":
        return TransformerModel(self)


@dataclass(frozen=True)
class TransformerState:
    """What a decoder holds while it writes: the source as the encoder read it, and the cache."""

    memory: Memory
    valid: SourceValid | None
    cache: Cache
    source: Source  # for a pointer

    def select(self, rows: Tensor, beams: int = 1) -> "TransformerState":
        texts = self.cache.texts(rows, beams)
        self.cache.select(rows, beams)
        if texts is None:
            return self
        valid = None if self.valid is None else self.valid[texts]
        return replace(self, memory=self.memory[texts], valid=valid, source=self.source[texts])


class TransformerModel(WritingModel):
    def __init__(self, config: Transformer):
        super().__init__()
        self.config = config
        scale = config.width**0.5 if config.embed_scale is None else config.embed_scale

        def writing(vocab: int) -> TokenEmbedding:
            return TokenEmbedding(
                vocab,
                config.width,
                tied=config.tied,
                scale=scale,
                bias=config.logit_bias,
                logit_scale=config.logit_scale,
            )

        self.embed_norm, self.target_embed_norm = (
            nn.Identity() if config.embed_norm is None else config.embed_norm.build(config.width) for _ in range(2)
        )
        shared = config.target_vocab is None
        self.embedding = writing(config.vocab) if shared else TokenEmbedding(config.vocab, config.width, scale=scale)
        self.target_embedding = None if shared else writing(config.target_vocab or 0)
        self.drop = Dropout(config.dropout)
        self.encoder = config.stack(causal=False)
        after = Sinusoid() if isinstance(config.position, Tree) else config.position
        self.decoder = config.stack(
            causal=True, cross=True, layers=config.decoder_layers, position=config.target_position or after
        )
        self.pointer = None if config.copy is None else config.copy.build(config.width)
        init_weights(self, self.encoder.blocks, self.decoder.blocks, init=config.init)

    def forward(
        self,
        source: Source,
        target: Tokens,
        source_valid: SourceValid | None = None,
        source_positions: Positions | None = None,
    ) -> Logits:
        """Scores of the target word after each one given, all at once (teacher forcing)."""
        memory = self.encode(source, source_valid, source_positions)
        return self.decode(target, memory, source_valid, source=source)

    def encode(self, source: Source, valid: SourceValid | None = None, positions: Positions | None = None) -> Memory:
        positions = positions or Positions.counting(source.shape[1], device=source.device)
        x = self.drop(self.embed_norm(self.encoder.position.embed(self.embedding(source), positions)))
        return self.encoder(x, None if valid is None else Padding(valid), positions)

    def decode(
        self,
        target: Tokens,
        memory: Memory,
        valid: SourceValid | None = None,
        cache: Cache | None = None,
        source: Source | None = None,
    ) -> Logits:
        embedding = self.target_embedding or self.embedding
        positions = Positions.counting(target.shape[1], cache.length if cache else 0, target.device)
        x = self.drop(self.target_embed_norm(self.decoder.position.embed(embedding(target), positions)))
        padding = None if valid is None else Padding(valid)
        states = self.decoder(x, Causal(), positions, memory, padding, cache)
        logits = embedding.logits(states)
        if self.pointer is None:
            return logits
        if source is None:
            raise ConfigError("decode: a model that copies needs the tokens of the source")
        mixed: Logits = self.pointer(logits, states, target, memory, source, padding)
        return mixed

    def init_state(
        self, source: Source, valid: SourceValid | None = None, positions: Positions | None = None
    ) -> TransformerState:
        """The state for `step`: the source is read once."""
        memory = self._encode_by_width(source, valid) if positions is None else self.encode(source, valid, positions)
        return TransformerState(memory, valid, Cache(len(self.decoder.blocks)), source)

    def _encode_by_width(self, source: Source, valid: SourceValid | None) -> Memory:
        """What `encode` gives, some rows at a time: where rows come sorted, few of them are read as far as the longest.

        What nobody may look at, beyond the width of a group, is zero. A listener hears all rows in one pattern.
        """
        if valid is None or len(source) <= TOGETHER or any(tap.watched for tap in taps(self).values()):
            return self.encode(source, valid)
        ends = (valid * torch.arange(1, source.shape[1] + 1, device=source.device)).amax(1).clamp(min=1)
        groups = zip(source.split(TOGETHER), valid.split(TOGETHER), ends.split(TOGETHER), strict=True)
        read = [self.encode(words[:, : end.max()], shown[:, : end.max()]) for words, shown, end in groups]
        return torch.cat([F.pad(some, (0, 0, 0, source.shape[1] - some.shape[1])) for some in read])

    @property
    def max_positions(self) -> int | None:
        return self.decoder.position.max_length

    def step(self, tokens: Tokens, state: TransformerState) -> tuple[Logits, TransformerState]:
        return self.decode(tokens, state.memory, state.valid, state.cache, state.source), state
