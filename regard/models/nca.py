"""Neighbourhood components analysis with a deep encoder: attention between the rows of one table, with learned keys.

A row is predicted by the labels of all other rows, weighted by distance in a space that one encoder learns for queries
and keys alike (Goldberger et al., 2004; ModernNCA, Ye et al., 2025; TabR, Gorishniy et al., 2024). The Non-Parametric
Transformer computes keys again in every layer; here they are computed once, so that a table may have a million rows.

The label of a key may be corrected for its difference from the query, by a linear map c: y + c · (q − k). It is the
local linear regression of statistics, with one slope for the whole table in a space where that suffices (as in TabR).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.core.errors import ConfigError, at_least, share
from regard.core.model import ModelConfig
from regard.parts.attention import Attention, Distance
from regard.parts.dropout import Dropout
from regard.parts.linear import Linear
from regard.parts.masks import Mask
from regard.parts.multihead import width_per_head
from regard.parts.norms import LayerNorm
from regard.parts.periodic import INPUTS, NumberInputs, PeriodicEmbedding
from regard.parts.taps import Tap

Queries = Float[Tensor, "query width"]
Rows = Float[Tensor, "row width"]
Labels = Float[Tensor, "row label"]


@dataclass(frozen=True, kw_only=True)
class NCA(ModelConfig):
    reads_tables = True

    categories: tuple[int, ...]  # number of categories of each column; 0 for a numeric column
    width: int = 192  # of a key
    layers: int = 1
    hidden: int = 384
    heads: int = 1
    frequencies: int = 16  # of each numeric column
    frequency_std: float = 0.3  # at the start; larger values see finer detail
    number_width: int = 8
    dropout: float = 0.1
    attention: Attention = Distance()
    correction: bool = False  # whether labels are numbers, corrected for the difference between query and key

    def __post_init__(self) -> None:
        at_least(1, width=self.width, hidden=self.hidden, heads=self.heads, frequencies=self.frequencies)
        at_least(1, number_width=self.number_width)
        at_least(0, layers=self.layers)
        share(dropout=self.dropout)
        width_per_head(self.width, self.heads)
        if not self.categories or min(self.categories) < 0:
            raise ConfigError(f"categories: needs a count for each column, 0 for numbers, not {self.categories}")

    def build(self) -> "NCAModel":
        return NCAModel(self)


@dataclass(frozen=True)
class RowInputs:
    """Rows as the encoder takes them, computed once for many steps of training."""

    numbers: Float[Tensor, "row number input"]
    codes: Int[Tensor, "row category"]

    def take(self, rows: Tensor | slice) -> "RowInputs":
        return RowInputs(self.numbers[rows], self.codes[rows])

    def __len__(self) -> int:
        return len(self.numbers)


class NCAModel(nn.Module):
    first: Tensor
    counts: Tensor
    label_std: Tensor

    def __init__(self, config: NCA):
        super().__init__()
        self.config = config
        self.is_category = torch.tensor([count > 0 for count in config.categories], device="cpu")
        # Each column has two more codes than categories: missing, and never seen in training.
        counts = torch.tensor([count for count in config.categories if count], dtype=torch.long)
        self.register_buffer("counts", counts, persistent=False)
        self.register_buffer("first", (counts + 2).cumsum(0) - (counts + 2), persistent=False)
        numbers = len(config.categories) - len(counts)
        self.register_buffer("label_std", torch.ones((), dtype=torch.float64))  # of numbers, which are standardised
        self.inputs = NumberInputs(numbers)
        self.periodic = PeriodicEmbedding(numbers, config.frequencies, config.number_width, config.frequency_std)
        self.number = Linear(numbers * (config.number_width + INPUTS), config.width)
        self.category = nn.Embedding(sum(count + 2 for count in config.categories if count), config.width)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.layers))
        self.attend = config.attention.build(config.heads, config.width // config.heads)
        self.correction = Linear(config.width, 1, bias=False) if config.correction else None
        self.pattern = Tap()
        if self.correction is not None:
            nn.init.zeros_(self.correction.weight)
        nn.init.normal_(self.category.weight, std=len(config.categories) ** -0.5)

    def encode(self, values: Float[Tensor, "row column"]) -> RowInputs:
        """The inputs of rows, as a table has them: numbers, or codes of categories; NaN where missing."""
        categories = values[:, self.is_category]
        unseen = (categories >= self.counts) | (categories < 0)
        codes = torch.where(unseen, self.counts + 1, categories).where(~categories.isnan(), self.counts)
        return RowInputs(self.inputs(values[:, ~self.is_category]), codes.long() + self.first)

    def embed(self, rows: RowInputs) -> Rows:
        """The keys of rows, which are their queries too."""
        waves = self.periodic(rows.numbers[..., 0])
        x: Tensor = self.number(torch.cat([waves, rows.numbers], -1).flatten(1)) + self.category(rows.codes).sum(1)
        for block in self.blocks:
            x = x + block(x)
        return x

    def forward(
        self, queries: Queries, keys: Rows, labels: Labels, mask: Mask | None = None
    ) -> Float[Tensor, "query label"]:
        """The mean label of the keys, weighted by attention: class probabilities, or numbers."""
        if self.correction is not None:
            return self.correction(queries) + self._attend(queries, keys, labels - self.correction(keys), mask)
        return self._attend(queries, keys, labels, mask)

    def _attend(self, queries: Queries, keys: Rows, labels: Labels, mask: Mask | None) -> Float[Tensor, "query label"]:
        q, k = self._heads(queries), self._heads(keys)
        v = labels.expand(1, self.config.heads, -1, -1)
        if not self.pattern.watched:
            return self.attend(q, k, v, mask)[0].mean(0)
        attended, pattern = self.attend.watch(q, k, v, mask)
        self.pattern(pattern)
        return attended[0].mean(0)

    def _heads(self, x: Rows) -> Float[Tensor, "one head row size"]:
        heads: Tensor = x.unflatten(-1, (self.config.heads, -1))
        return heads.transpose(0, 1)[None]


def _block(config: NCA) -> nn.Module:
    return nn.Sequential(
        LayerNorm().build(config.width),
        Linear(config.width, config.hidden),
        nn.ReLU(),
        Dropout(config.dropout),
        Linear(config.hidden, config.width),
    )
