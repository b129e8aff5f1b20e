"""Position encodings as heat maps: what they add to tokens or scores, and how they rotate queries and keys."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.parts.blocks import Stack
from regard.parts.multihead import MultiHead
from regard.parts.positions import PositionEncoding, Positions
from regard.parts.positions.learned import LearnedEncoding
from regard.parts.positions.shaw import ShawEncoding
from regard.view.pictures.values import encode_matrix

LENGTH = 128  # positions drawn of an encoding without a maximum length
SIDE = 64  # positions on each side of a map of pairs


class PositionMap(NamedTuple):
    stack: str  # path of the stack of blocks
    title: str
    down: str  # label of the vertical axis
    across: str
    values: Float[Tensor, "row column"]


def position_pictures(model: nn.Module) -> list[dict[str, Any]]:
    """The maps as JSON data for the page."""
    return [
        {
            "stack": one.stack,
            "title": one.title,
            "down": one.down,
            "across": one.across,
            "map": encode_matrix(one.values),
        }
        for one in positions_of(model)
    ]


def positions_of(model: nn.Module) -> list[PositionMap]:
    """The maps of every stack of blocks that has a position encoding."""
    maps = []
    for name, part in model.named_modules():
        if isinstance(part, Stack):
            heads = next(module for module in part.modules() if isinstance(module, MultiHead))
            width = heads.query.in_features
            count = heads.query.out_features // heads.head_size
            maps += [PositionMap(name, *one) for one in position_maps(part.position, width, count, heads.head_size)]
    return maps


@torch.inference_mode()
def position_maps(encoding: PositionEncoding, width: int, heads: int, size: int) -> list[tuple[str, str, str, Tensor]]:
    """Title, labels of the vertical and the horizontal axis, and values."""
    kind = type(encoding).__name__.removesuffix("Encoding")
    if isinstance(encoding, ShawEncoding):  # also of a dependency tree, with distances in the tree
        return [(f"{kind}: embedding of each distance", "distance", "dimension", encoding.table)]
    maps = []
    length = min(LENGTH, encoding.table.num_embeddings) if isinstance(encoding, LearnedEncoding) else LENGTH
    positions = Positions.counting(length)
    if (added := encoding.embed(torch.zeros(1, length, width), positions)).any():
        maps.append((f"{kind}: added to the embedding at each position", "position", "dimension", added[0]))
    unit = torch.cat([torch.ones(1, 1, length, size // 2), torch.zeros(1, 1, length, size - size // 2)], -1)
    if not torch.equal(rotated := encoding.turn(unit, positions), unit):
        title = f"{kind}: cosine and sine of the rotation at each position"
        maps.append((title, "position", "dimension", rotated[0, 0]))
    near = Positions.counting(SIDE)
    if (bias := encoding.bias(near)) is not None:
        query, key = near.index[0][:, None], near.index[0][None, :]
        scores = bias.at(torch.zeros(1, heads, SIDE, size), query, key)[0]
        for head, values in enumerate(scores):
            title = f"{kind}: added to the scores of head {head}"
            maps.append((title, "query position", "key position", values.expand(SIDE, SIDE)))
    return maps
