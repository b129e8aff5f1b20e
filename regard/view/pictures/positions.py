"""Position codes as heat maps, found by asking a code at each of the three places where order may enter."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.parts.blocks import Stack
from regard.parts.multihead import MultiHead
from regard.parts.positions import PositionEncoding, Positions
from regard.parts.positions.learned import LearnedEncoding
from regard.parts.positions.shaw import ShawEncoding
from regard.view.pictures.values import packed

PLACES = 128  # that are drawn of a code without end
SQUARE = 64  # places of a picture of pairs


class PositionMap(NamedTuple):
    stack: str  # of blocks
    title: str
    down: str  # what runs down
    across: str
    values: Float[Tensor, "row column"]


def position_pictures(model: nn.Module) -> list[dict[str, Any]]:
    """The same as a page draws them."""
    return [
        {"stack": one.stack, "title": one.title, "down": one.down, "across": one.across, "map": packed(one.values)}
        for one in positions_of(model)
    ]


def positions_of(model: nn.Module) -> list[PositionMap]:
    """A map for each way in which a stack of blocks knows the order of its tokens."""
    found = []
    for name, part in model.named_modules():
        if isinstance(part, Stack):
            heads = next(module for module in part.modules() if isinstance(module, MultiHead))
            width = heads.query.in_features
            count = heads.query.out_features // heads.head_size
            found += [PositionMap(name, *one) for one in position_maps(part.position, width, count, heads.head_size)]
    return found


@torch.inference_mode()
def position_maps(code: PositionEncoding, width: int, heads: int, size: int) -> list[tuple[str, str, str, Tensor]]:
    """Title, what runs down, what runs across, and the numbers."""
    kind = type(code).__name__.removesuffix("Encoding")
    if isinstance(code, ShawEncoding):  # also those of a tree, whose distances are steps through it
        return [(f"{kind}: the vector of each distance", "distance", "number of the vector", code.table)]
    found = []
    length = min(PLACES, code.table.num_embeddings) if isinstance(code, LearnedEncoding) else PLACES
    places = Positions.counting(length)
    if (added := code.embed(torch.zeros(1, length, width), places)).any():
        found.append((f"{kind}: added to the token at each place", "place", "number of the vector", added[0]))
    unit = torch.cat([torch.ones(1, 1, length, size // 2), torch.zeros(1, 1, length, size - size // 2)], -1)
    if not torch.equal(turned := code.turn(unit, places), unit):
        title = f"{kind}: cosine and sine of the turn of each pair"
        found.append((title, "place", "number of the vector", turned[0, 0]))
    near = Positions.counting(SQUARE)
    if (bias := code.bias(near)) is not None:
        query, key = near.index[0][:, None], near.index[0][None, :]
        scores = bias.at(torch.zeros(1, heads, SQUARE, size), query, key)[0]
        for head, own in enumerate(scores):
            title = f"{kind}: added to the scores of head {head}"
            found.append((title, "place of the query", "place of the key", own.expand(SQUARE, SQUARE)))
    return found
