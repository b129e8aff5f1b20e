"""A multilayer perceptron on the rows of one table: the row encoder of learned keys and a linear layer.

Numbers are read as ranks, sizes and periodic features (Gorishniy et al., 2022), categories as embeddings.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.errors import at_least
from regard.core.model import ModelConfig
from regard.models.nca import NCA, RowInputs
from regard.parts.linear import Linear


@dataclass(frozen=True, kw_only=True)
class RowMLP(ModelConfig):
    reads_tables = True

    categories: tuple[int, ...]  # number of categories of each column; 0 for a numeric column
    outputs: int
    width: int = 96
    layers: int = 2
    hidden: int = 192
    dropout: float = 0.1

    def __post_init__(self) -> None:
        at_least(1, outputs=self.outputs)
        self.encoder()

    def encoder(self) -> NCA:
        return NCA(
            categories=self.categories, width=self.width, layers=self.layers, hidden=self.hidden, dropout=self.dropout
        )

    def build(self) -> "RowMLPModel":
        return RowMLPModel(self)


class RowMLPModel(nn.Module):
    mean: Tensor
    std: Tensor

    def __init__(self, config: RowMLP):
        super().__init__()
        self.config = config
        self.encoder = config.encoder().build()
        self.head = Linear(config.width, config.outputs)
        nn.init.zeros_(self.head.weight)
        # Outputs are learned standardised.
        self.register_buffer("mean", torch.zeros(config.outputs, dtype=torch.float64))
        self.register_buffer("std", torch.ones(config.outputs, dtype=torch.float64))

    def forward(self, rows: RowInputs) -> Float[Tensor, "row output"]:
        """Standardised outputs of encoded rows."""
        output: Tensor = self.head(self.encoder.embed(rows).relu())
        return output

    def predict(self, values: Float[Tensor, "row column"]) -> Float[Tensor, "row output"]:
        """Outputs of rows as a table has them: numbers, or codes of categories; NaN where missing."""
        output: Tensor = self(self.encoder.encode(values))
        return output.double() * self.std + self.mean
