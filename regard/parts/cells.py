"""Table cells in and out: an embedding for each cell, and a prediction for each (Kossen et al., 2021)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.parts.linear import Linear


class CellEmbedding(nn.Module):
    """Each column has an encoding of its own: a number scales a vector, a category has its own vector.

    Every cell also carries the embedding of its column and of the column's type; a masked cell only says that it is
    masked. `categories[j]` is the number of categories of column j, 0 for a numeric column.
    """

    first: Tensor
    is_number: Tensor

    def __init__(self, categories: tuple[int, ...], width: int):
        super().__init__()
        self.categories = categories
        sizes = torch.tensor([max(count, 1) for count in categories])
        self.register_buffer("first", sizes.cumsum(0) - sizes, persistent=False)  # each column's first embedding
        self.register_buffer("is_number", torch.tensor([count == 0 for count in categories]), persistent=False)
        self.value = nn.Embedding(sum(max(count, 1) for count in categories), width)
        self.mask = nn.Embedding(len(categories), width)
        self.column = nn.Embedding(len(categories), width)
        self.kind = nn.Embedding(2, width)

    def forward(
        self, cells: Float[Tensor, "batch row column"], masked: Bool[Tensor, "batch row column"]
    ) -> Float[Tensor, "batch row column width"]:
        visible = cells.masked_fill(masked, 0)
        number, code = self.is_number, torch.where(self.is_number, 0, visible).long()
        amount = torch.where(number, visible, 1.0)
        states = self.value(self.first + code) * amount[..., None]
        states = torch.where(masked[..., None], self.mask.weight, states)
        embedded: Tensor = states + self.column.weight + self.kind(number.long())
        return embedded


class CellHead(nn.Module):
    """A number for each numeric column, logits over the categories of the others."""

    __call__: Callable[..., list[Tensor]]

    def __init__(self, categories: tuple[int, ...], width: int):
        super().__init__()
        self.columns = nn.ModuleList(Linear(width, max(count, 1)) for count in categories)

    def forward(self, states: Float[Tensor, "batch row column width"]) -> list[Tensor]:
        return [column(states[:, :, j]) for j, column in enumerate(self.columns)]
