"""Attention by gathered blocks: each block of queries looks at a short list of key blocks, and at nothing else.

Linear in time and memory, forwards and backwards, with the fused kernel inside each block. What is gathered is several
times as large as the keys; where that is much, a few query blocks look at a time, and gather again on the way back.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.core.shapes import Keys, Output, Queries, Values
from regard.parts.attention.base import Bias, hide
from regard.parts.masks import Mask

Table = Int[Tensor, "rows slots"]  # which key blocks each query block looks at; -1: an unused slot
QueryBlocks = Float[Tensor, "batch rows block heads size"]  # the query blocks, one to a row of the table
Blocks = Float[Tensor, "batch blocks block heads size"]  # the key blocks, or the value blocks
Seen = Float[Tensor, "batch rows seen heads size"]  # keys or values gathered for each query block
Terms = Bool[Tensor, "..."] | Float[Tensor, "..."]  # batch or 1, blocks, heads or 1, query or 1, key

MUCH = 1 << 22  # gathered numbers beyond which looking twice costs less than the memory to remember them
FEW = 1 << 20  # gathered numbers for one group of query blocks then: enough to keep the cores busy


def attend_to_blocks(
    q: Queries, k: Keys, v: Values, table: Table, block: int, scale: float, mask: Mask | None, bias: Bias | None
) -> Output:
    """Queries count from 0, whatever their number; keys that the table does not list are never read."""
    (batch, heads, queries, size), keys = q.shape, k.shape[-2]
    blocks, slots = table.shape
    within = torch.arange(block, device=q.device)
    query = (torch.arange(blocks, device=q.device)[:, None] * block + within)[:, :, None].clamp(max=queries - 1)
    key = (table[:, :, None] * block + within).flatten(1)[:, None, :]
    real = (key >= 0) & (key < keys)
    key = key.clamp(0, keys - 1)

    few, seen = blocks, batch * slots * block * heads * size
    followed = bias is not None or torch.compiler.is_compiling()  # autograd must see the weights of a bias
    if blocks * seen > MUCH and not followed:
        few = max(1, FEW // seen)
    places = zip(query.split(few), key.split(few), real.split(few), strict=True)
    terms = [(valid[None] if mask is None else valid & mask.at(a, b))[:, :, None] for a, b, valid in places]

    q, k, v = _cut(q, block), _cut(k, block), _cut(v, block)
    if bias is not None:
        added = bias.at(q.movedim(3, 1), query, key).expand(-1, heads, -1, -1, -1)
        terms = [hide(added.movedim(1, 2), terms[0])]
    if len(terms) == 1:
        output = _attend(q, _gather(k, table), _gather(v, table), terms[0], scale)
    else:
        few_at_a_time: Callable[..., Tensor] = FewAtATime.apply
        output = few_at_a_time(q, k, v, table, terms, scale)
    return output.flatten(1, 2)[:, :queries].transpose(1, 2)


def _cut(x: Float[Tensor, "batch heads length size"], block: int) -> Blocks:
    missing = -x.shape[-2] % block
    whole = F.pad(x, (0, 0, 0, missing)) if missing else x  # padding by nothing would copy
    blocks: Tensor = whole.transpose(1, 2).unflatten(1, (-1, block))
    return blocks


def _gather(x: Blocks, table: Table) -> Seen:
    """All that each query block sees, one key block after the other."""
    seen: Tensor = x.index_select(1, table.clamp(min=0).flatten()).unflatten(1, table.shape).flatten(2, 3)
    return seen


def _attend(q: QueryBlocks, k: Seen, v: Seen, terms: Terms, scale: float) -> QueryBlocks:
    terms = terms.expand(len(q), -1, -1, -1, -1).flatten(0, 1)
    queries, keys, values = (x.flatten(0, 1).transpose(1, 2) for x in (q, k, v))
    output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=terms, scale=scale)
    blocks: Tensor = output.transpose(1, 2).unflatten(0, q.shape[:2])
    return blocks


class FewAtATime(torch.autograd.Function):
    """A few query blocks look at a time. Nothing gathered is kept: the way back gathers and looks once more."""

    @staticmethod
    def forward(
        ctx: Any, q: QueryBlocks, k: Blocks, v: Blocks, table: Table, terms: list[Terms], scale: float
    ) -> QueryBlocks:
        ctx.save_for_backward(q, k, v, table)
        ctx.terms, ctx.scale = terms, scale
        few = terms[0].shape[1]
        groups = zip(q.split(few, 1), table.split(few), terms, strict=True)
        return torch.cat(
            [_attend(queries, _gather(k, rows), _gather(v, rows), some, scale) for queries, rows, some in groups], 1
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: QueryBlocks) -> tuple[Any, ...]:
        q, k, v, table = ctx.saved_tensors
        to_q, to_k, to_v = (torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
        few = ctx.terms[0].shape[1]
        groups = zip(q.split(few, 1), table.split(few), ctx.terms, grad.split(few, 1), to_q.split(few, 1), strict=True)
        for queries, rows, some, wanted, into in groups:
            with torch.enable_grad():
                queries, keys, values = (
                    x.detach().requires_grad_() for x in (queries, _gather(k, rows), _gather(v, rows))
                )
                output = _attend(queries, keys, values, some, ctx.scale)
            for_q, for_k, for_v = torch.autograd.grad(output, (queries, keys, values), wanted.to(output.dtype))
            into.copy_(for_q)
            _give_back(for_k, rows, to_k)
            _give_back(for_v, rows, to_v)
        return to_q, to_k, to_v, None, None, None


def _give_back(x: Seen, table: Table, into: Blocks) -> None:
    """The reverse of `_gather`: add every block to where it came from."""
    into.index_add_(1, table.clamp(min=0).flatten(), x.unflatten(2, (table.shape[1], -1)).flatten(1, 2))
