"""Decoder only: source and target are one text, which a decoder reads and goes on writing (Liu et al., 2018).

    source … </s> <s> target …

There is no encoder and no second attention: what is written looks back at the source as it looks back at itself. With
`attention=Window(), alternate=Compressed()` it is the paper's model for long documents.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from regard.core.shapes import Logits, Source, SourceValid, Tokens
from regard.models.base import WritingModel
from regard.models.gpt import GPTModel, LeftToRight
from regard.parts.cache import Cache
from regard.parts.positions import Positions


@dataclass(frozen=True, kw_only=True)
class DecoderOnly(LeftToRight):
    reads_source = True

    def build(self) -> "DecoderOnlyModel":
        return DecoderOnlyModel(self)


@dataclass(frozen=True)
class SameLength:
    """Texts of a batch that are as long as each other, with what they have read."""

    rows: Int[Tensor, " row"]  # where they stand in the batch
    cache: Cache


@dataclass(frozen=True)
class DecoderOnlyState:
    """What the decoder holds while it writes.

    Texts whose sources are equally long are read together. So nothing between a source and its target is padding,
    and no attention or position code has to know that the texts beside it begin elsewhere.
    """

    groups: tuple[SameLength, ...]

    def select(self, rows: Tensor, beams: int = 1) -> "DecoderOnlyState":
        groups = []
        for group in self.groups:
            place, members = (rows[:, None] == group.rows).nonzero(as_tuple=True)
            if len(place):
                groups.append(SameLength(place, group.cache.select(members)))
        return DecoderOnlyState(tuple(groups))


class DecoderOnlyModel(WritingModel):
    def __init__(self, config: DecoderOnly):
        super().__init__()
        self.config = config
        self.writer = GPTModel(config)

    def forward(self, source: Source, target: Tokens, source_valid: SourceValid | None = None) -> Logits:
        """Scores of the target word after each one given. Padding of a source stands on its right."""
        lengths = _lengths(source, source_valid)
        states = self.writer.read(_one_text(source, target, lengths))
        written = lengths[:, None] + torch.arange(target.shape[1], device=target.device)
        return self.writer.scores(states.take_along_dim(written[:, :, None], 1))

    @property
    def max_positions(self) -> int | None:
        return self.writer.max_positions

    def init_state(
        self, source: Source, valid: SourceValid | None = None, positions: Positions | None = None
    ) -> DecoderOnlyState:
        """The state for `step`: the source is read once. It has no positions of its own, so that none are taken."""
        lengths, groups = _lengths(source, valid), []
        for length in lengths.unique().tolist():
            rows = (lengths == length).nonzero()[:, 0]
            cache = Cache(self.config.layers, capacity=length + 64)
            self.writer.read(source[rows, :length], cache=cache)
            groups.append(SameLength(rows, cache))
        return DecoderOnlyState(tuple(groups))

    def step(self, tokens: Tokens, state: DecoderOnlyState) -> tuple[Logits, DecoderOnlyState]:
        answers = [self.writer(tokens[group.rows], cache=group.cache) for group in state.groups]
        back = torch.cat([group.rows for group in state.groups]).argsort()
        return torch.cat(answers)[back], state


def _lengths(source: Source, valid: SourceValid | None) -> Int[Tensor, " batch"]:
    if valid is None:
        return torch.full((len(source),), source.shape[1], device=source.device)
    return valid.sum(1)


def _one_text(source: Source, target: Tokens, lengths: Int[Tensor, " batch"]) -> Int[Tensor, "batch both"]:
    """Each source and its target without a gap; what is left over on the right nobody sees."""
    both = torch.cat([source, target], 1)
    place = torch.arange(both.shape[1], device=both.device)[None]
    padding = source.shape[1] - lengths[:, None]
    after = (place + padding).clamp(max=both.shape[1] - 1)
    return both.gather(1, torch.where(place < lengths[:, None], place, after))
