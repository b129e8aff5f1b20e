"""Evoformer: an alignment and a table of residue pairs, each of which informs the other (Jumper et al., 2021).

Cells of the alignment attend along rows (residues of a sequence, with a bias from the table of pairs) and along columns
(sequences at a residue). The outer-product mean writes what columns have in common into the table, and triangles keep
the table consistent. It is the trunk of AlphaFold 2 without what follows it: it predicts how far
residues are apart, and letters that were masked, but no coordinates.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.closed_form.coevolution import PAIR_FEATURES
from regard.core.errors import MANY, ConfigError, at_least, at_most, share
from regard.core.model import ModelConfig
from regard.core.modules import RepeatedBlock
from regard.core.sizes import MAX_HEADS, MAX_WIDTH
from regard.parts.attention import Attention, Full
from regard.parts.axial import AxialAttention
from regard.parts.dropout import Dropout
from regard.parts.feed import GELU
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.multihead import MultiHead, width_per_head
from regard.parts.norms import LayerNorm
from regard.parts.outer_product import OuterProductMean
from regard.parts.pair_window import PairWindow
from regard.parts.triangles import TriangleAttention, TriangleMultiplication

FAR = 32  # residues: pairs further apart share one embedding of their distance

Cells = Float[Tensor, "batch sequence residue width"]
Pairs = Float[Tensor, "batch residue residue pair"]
Valid = Bool[Tensor, "batch residue"]


@dataclass(frozen=True, kw_only=True)
class Evoformer(ModelConfig):
    reads_alignments = True

    letters: int = 26  # kinds of cells: letters of all alphabets, the gap and the mask
    features: int = PAIR_FEATURES  # of each pair of residues
    bins: int = 8  # of the distance between two residues
    width: int = 16  # of a cell
    pair_width: int = 24
    layers: int = 2
    heads: int = 4
    attention: Attention = Full()
    triangles: Literal["multiplication", "attention", "both", "none"] = "multiplication"
    along: Literal["both", "rows"] = "both"  # whether sequences attend to each other too, for ablations
    bias: Literal["pairs", "none"] = "pairs"  # of the attention along rows
    window: int = 7  # pairs that a convolution over the table sees in each direction; 0: none
    outer: int = 8  # width of the two projections whose outer product is taken
    dropout: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, letters=self.letters, features=self.features, outer=self.outer, bins=self.bins)
        at_least(1, width=self.width, layers=self.layers, heads=self.heads)
        at_least(2, pair_width=self.pair_width)
        at_most(MANY, layers=self.layers)
        at_most(MAX_WIDTH, width=self.width, pair_width=self.pair_width, outer=self.outer)
        at_most(MAX_HEADS, heads=self.heads)
        share(dropout=self.dropout)
        width_per_head(self.width, self.heads)
        width_per_head(self.pair_width, self.heads)
        if (self.window and self.window % 2 == 0) or not 0 <= self.window < 64:
            raise ConfigError(f"window: must be odd and below 64, or 0, not {self.window}")
        if not self.attention.takes_bias:
            kind = type(self.attention).__name__
            raise ConfigError(f"attention: pairs add to the score of each key, and {kind} attention has none")

    def build(self) -> "EvoformerModel":
        return EvoformerModel(self)

    def multihead(self, width: int) -> MultiHead:
        return MultiHead(width, self.heads, self.attention)


class EvoformerModel(nn.Module):
    def __init__(self, config: Evoformer):
        super().__init__()
        self.config = config
        self.letters = nn.Embedding(config.letters, config.width)
        self.first = nn.Embedding(config.letters, config.width)  # the letter of the first sequence, for all others
        self.distance = nn.Embedding(2 * FAR + 1, config.pair_width)
        self.profile = Linear(config.letters, 2 * config.pair_width)
        self.features = Linear(config.features, config.pair_width)
        self.drop = Dropout(config.dropout)
        self.blocks = nn.ModuleList(EvoformerBlock(config) for _ in range(config.layers))
        self.pair_norm, self.cell_norm = nn.LayerNorm(config.pair_width), nn.LayerNorm(config.width)
        self.distance_head = Linear(config.pair_width, config.bins)
        self.feature_head = Linear(config.features, config.bins, bias=False)  # past the blocks: a linear model
        self.letter_head = Linear(config.width, config.letters)
        self.profile_scale = nn.Parameter(torch.ones(()))
        init_weights(self)
        nn.init.zeros_(self.feature_head.weight)
        with torch.no_grad():  # branches are added to the stream, as in `XavierInit`
            for name, module in self.blocks.named_modules():
                if isinstance(module, nn.Linear) and name.endswith(("out", "down")):
                    module.weight.mul_((3 * config.layers) ** -0.5)

    def forward(
        self,
        letters: Int[Tensor, "batch sequence residue"],
        profile: Float[Tensor, "batch residue letter"],
        features: Float[Tensor, "batch residue residue feature"],
        index: Int[Tensor, "batch residue"] | None = None,
        valid: Valid | None = None,
    ) -> tuple[Float[Tensor, "batch residue residue bin"], Float[Tensor, "batch sequence residue letter"]]:
        """Logits of the distance of every pair of residues, in bins, and of the letters of every cell.

        `profile` holds the frequencies of letters in each column of the whole alignment, of which `letters` may be a
        sample; `index` numbers the residues where some of the chain are left out.
        """
        cells, pair = self._embed(letters, profile, features, index)
        for block in self.blocks:
            cells, pair = block(cells, pair, valid)
        pair = self.pair_norm(pair)
        distance: Tensor = self.distance_head((pair + pair.transpose(1, 2)) / 2) + self.feature_head(features)
        letter: Tensor = self.letter_head(self.cell_norm(cells))
        return distance, letter + self.profile_scale * (profile + 1e-3).log()[:, None]

    def _embed(self, letters: Tensor, profile: Tensor, features: Tensor, index: Tensor | None) -> tuple[Cells, Pairs]:
        if index is None:
            index = torch.arange(letters.shape[2], device=letters.device)[None]
        distance = (index[:, :, None] - index[:, None, :]).clamp(-FAR, FAR) + FAR
        left, right = self.profile(profile).chunk(2, -1)
        pair = self.features(features) + self.distance(distance) + left[:, :, None] + right[:, None, :]
        return self.drop(self.letters(letters) + self.first(letters[:, :1])), self.drop(pair)


class EvoformerBlock(RepeatedBlock):
    def __init__(self, config: Evoformer):
        super().__init__()
        width, pair_width, norm = config.width, config.pair_width, LayerNorm()
        biased = config.bias == "pairs"
        self.bias_norm = nn.LayerNorm(pair_width) if biased else None
        self.rows = AxialAttention(config.multihead(width), "row", pair_width if biased else None)
        self.columns = AxialAttention(config.multihead(width), "column") if config.along == "both" else None
        self.row_norm, self.feed_norm, self.outer_norm = (nn.LayerNorm(width) for _ in range(3))
        self.column_norm = nn.LayerNorm(width) if config.along == "both" else None
        self.feed = GELU(2 * width).build(width)
        self.outer = OuterProductMean(width, pair_width, config.outer)
        triangles: list[nn.Module] = []
        if config.triangles in ("multiplication", "both"):
            triangles.append(TriangleMultiplication(pair_width, pair_width // 2, norm, "outgoing"))
            triangles.append(TriangleMultiplication(pair_width, pair_width // 2, norm, "incoming"))
        if config.triangles in ("attention", "both"):
            triangles.append(TriangleAttention(config.multihead(pair_width), pair_width, "starting"))
            triangles.append(TriangleAttention(config.multihead(pair_width), pair_width, "ending"))
        if config.window:
            triangles.append(PairWindow(pair_width, config.window))
        self.between_pairs = nn.ModuleList(triangles)
        self.pair_norms = nn.ModuleList(nn.LayerNorm(pair_width) for _ in triangles)
        self.pair_feed_norm = nn.LayerNorm(pair_width)
        self.pair_feed = GELU(2 * pair_width).build(pair_width)
        self.drop = Dropout(config.dropout)

    def forward(self, cells: Cells, pair: Pairs, valid: Valid | None = None) -> tuple[Cells, Pairs]:
        biasing = None if self.bias_norm is None else self.bias_norm(pair)
        cells = cells + self.drop(self.rows(self.row_norm(cells), valid, biasing))
        if self.columns is not None and self.column_norm is not None:
            cells = cells + self.drop(self.columns(self.column_norm(cells)))
        cells = cells + self.drop(self.feed(self.feed_norm(cells)))
        pair = pair + self.drop(self.outer(self.outer_norm(cells)))
        for norm, update in zip(self.pair_norms, self.between_pairs, strict=True):
            pair = pair + update(norm(pair), valid)
        return cells, pair + self.drop(self.pair_feed(self.pair_feed_norm(pair)))
