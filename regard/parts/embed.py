"""Embeddings: words and image patches become states of the model's width, and words come out again."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.config import Config
from regard.core.errors import ConfigError, at_least, at_most
from regard.core.shapes import Images, Logits, States, Tokens
from regard.core.sizes import MAX_VOCAB
from regard.parts.linear import Linear, Packable

MAX_BIGRAM_VOCAB = 1024


class TokenEmbedding(nn.Module, Packable):
    """Tokens in, scores over the vocabulary out; tied, both directions share one table (Press & Wolf, 2017)."""

    def __init__(
        self,
        vocab: int,
        width: int,
        *,
        tied: bool = True,
        scale: float = 1.0,
        bias: bool = False,
        logit_scale: float = 1.0,
    ):
        super().__init__()
        at_least(1, vocab=vocab)
        at_most(MAX_VOCAB, vocab=vocab)
        self.scale, self.logit_scale = scale, logit_scale
        self.table = nn.Embedding(vocab, width)
        self.head = None if tied else nn.Parameter(torch.empty(vocab, width))
        if self.head is not None:
            nn.init.normal_(self.head, std=width**-0.5)
        self.head_bias = nn.Parameter(torch.zeros(vocab)) if bias else None

    def forward(self, tokens: Tokens) -> States:
        states: Tensor = self.table(tokens) * self.scale
        return states

    def logits(self, states: States) -> Logits:
        return self.multiply(states * self.logit_scale, self.head_bias)

    def matrix(self) -> Tensor:
        return self.table.weight if self.head is None else self.head


@dataclass(frozen=True)
class BigramEmbedding(Config):
    """A learned vector for each token together with the one before it, for small vocabularies such as characters."""

    def build(self, vocab: int, width: int) -> "BigramTable":
        return BigramTable(vocab, width)


class BigramTable(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        if vocab > MAX_BIGRAM_VOCAB:
            raise ConfigError(
                f"bigram: {vocab} tokens make too many pairs: at most {MAX_BIGRAM_VOCAB}, as of characters"
            )
        self.vocab = vocab
        self.table = nn.Embedding((vocab + 1) * vocab, width)  # the first token of a text comes after `vocab`: nothing

    def forward(self, tokens: Tokens, before: Tensor | None, index: Tensor) -> States:
        """`before` is the token before these, where a cache holds the rest; `index` counts from each start."""
        first = tokens[:, :1] if before is None else before
        previous = torch.cat([first, tokens[:, :-1]], 1)
        states: Tensor = self.table(torch.where(index == 0, self.vocab, previous) * self.vocab + tokens)
        return states


class Patches(nn.Module):
    """An image as a row of square patches, each flattened and projected (Dosovitskiy et al., 2021)."""

    def __init__(self, image: int, patch: int, channels: int, width: int):
        super().__init__()
        if image % patch:
            raise ConfigError(f"image {image} is not divisible by patch {patch}")
        self.image, self.patch = image, patch
        self.count = (image // patch) ** 2
        self.project = Linear(channels * patch * patch, width)

    def forward(self, images: Images) -> States:
        height, breadth = images.shape[-2:]
        if height != self.image or breadth != self.image:
            raise ConfigError(f"the model reads images of {self.image}×{self.image} and was given {height}×{breadth}")
        return self.project(F.unfold(images, self.patch, stride=self.patch).transpose(1, 2))


def first_token(token: nn.Parameter, states: States) -> Float[Tensor, "batch length+1 width"]:
    """States with a learned token put before the first."""
    return torch.cat([token.expand(states.shape[0], 1, -1), states], 1)
