"""Attention by gathered blocks: each block of queries looks at a short list of key blocks, and at nothing else.

Linear in time and memory, forwards and backwards, with the fused kernel inside each block.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from regard.core.shapes import Found, Keys, Queries, Values
from regard.parts.attention.base import Bias, hide
from regard.parts.masks import Mask

Table = Int[Tensor, "blocks slots"]  # which key blocks each query block looks at; -1: an unused slot


def attend_to_blocks(
    q: Queries, k: Keys, v: Values, table: Table, block: int, scale: float, mask: Mask | None, bias: Bias | None
) -> Found:
    """Queries count from 0, whatever their number; keys that the table does not list are never read."""
    (batch, heads, queries, size), keys = q.shape, k.shape[-2]
    blocks, slots = table.shape

    def cut(x: Tensor) -> Tensor:  # batch, blocks, block * heads * size: a block is one stretch of memory
        whole = F.pad(x, (0, 0, 0, -x.shape[-2] % block)).transpose(1, 2)
        return whole.reshape(batch, -1, block * heads * size)

    def gather(x: Tensor) -> Tensor:
        chosen = cut(x).index_select(1, table.clamp(min=0).flatten())
        return chosen.view(batch * blocks, slots * block, heads, size).transpose(1, 2)

    within = torch.arange(block, device=q.device)
    query = (torch.arange(blocks, device=q.device)[:, None] * block + within)[:, :, None].clamp(max=queries - 1)
    key = (table[:, :, None] * block + within).flatten(1)[:, None, :]
    allowed = ((key >= 0) & (key < keys)).expand(-1, block, -1)[None]
    key = key.clamp(0, keys - 1)
    if mask is not None:
        allowed = allowed & mask.at(query, key)
    allowed = allowed.expand(batch, -1, -1, -1).reshape(batch * blocks, 1, block, slots * block)
    terms = allowed
    if bias is not None:
        parted = F.pad(q, (0, 0, 0, -queries % block)).unflatten(2, (blocks, block))
        added = bias.at(parted, query, key).expand(batch, heads, blocks, block, slots * block)
        terms = hide(added.transpose(1, 2).flatten(0, 1), allowed)

    asking = cut(q).view(batch * blocks, block, heads, size).transpose(1, 2)
    found = F.scaled_dot_product_attention(asking, gather(k), gather(v), attn_mask=terms, scale=scale)
    return found.transpose(1, 2).reshape(batch, blocks * block, heads, size)[:, :queries].transpose(1, 2)
