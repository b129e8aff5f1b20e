"""Attention, heads and blocks against torch's own modules, with copied weights."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.core.errors import ConfigError
from regard.parts import (
    GELU,
    Additive,
    Block,
    Causal,
    Compressed,
    Full,
    LayerNorm,
    Linformer,
    MaskTensor,
    MultiHead,
    NoPosition,
    Padding,
    Positions,
    PostNorm,
    PreNorm,
    ReLU,
    RMSNorm,
    Rotary,
    listen,
)
from regard.parts.blocks import Context
from tests.helpers import HEADS, SIZE, WIDTH, bias_of, build_attention, close, lookup, some_bias, valid_of


def copy_heads(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    """torch keeps query, key and value in one matrix, in this order."""
    for part, weight, bias in zip(
        (ours.query, ours.key, ours.value), theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True
    ):
        copy_linear(part, weight, bias)
    copy_linear(ours.out, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_linear(ours: nn.Module, weight: torch.Tensor, bias: torch.Tensor) -> None:
    ours.load_state_dict({"weight": weight, "bias": bias})


def randomise(module: nn.Module) -> nn.Module:
    """Random biases and gains too: torch starts them at zero and one, where a mistake could hide."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("queries", [1, 5, 20])
def test_full_attention_is_scaled_dot_product_attention(queries, biased):
    q, k, v = lookup(20)
    q = q[..., -queries:, :]
    written = torch.rand(3, 20, 20) < 0.7
    bias = bias_of(some_bias()) if biased else None
    output = build_attention(Full())(q, k, v, MaskTensor(written), bias)
    index = torch.arange(20)
    terms = torch.zeros(3, 1, queries, 20).masked_fill(~written[:, None, -queries:], -torch.inf)
    if bias is not None:
        terms = terms + bias.at(q, index[-queries:, None], index[None, :])
    close(output, F.scaled_dot_product_attention(q, k, v, attn_mask=terms))


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_multi_head_attention_is_torchs(cross, watched):
    theirs = randomise(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True))
    ours = MultiHead(WIDTH, HEADS)
    copy_heads(ours, theirs)
    x, memory = torch.randn(3, 6, WIDTH), torch.randn(3, 9, WIDTH)
    source = memory if cross else x
    valid = valid_of([source.shape[1], 4, 1])
    expected, weights = theirs(x, source, source, key_padding_mask=~valid, average_attn_weights=False)
    if watched:
        with listen(ours) as heard:
            output = ours(x, memory if cross else None, Padding(valid))
        close(heard["pattern"], weights)
    else:
        output = ours(x, memory if cross else None, Padding(valid))
    close(output, expected)


def our_block(theirs: nn.Module, feed, wiring, cross: bool) -> Block:
    """A block with the weights of torch's layer: each of its norms is one of ours."""
    ours = wiring.block(
        WIDTH,
        attend=MultiHead(WIDTH, HEADS),
        feed=feed.build(WIDTH),
        norm=LayerNorm(),
        cross=MultiHead(WIDTH, HEADS) if cross else None,
    )
    copy_heads(ours.attend, theirs.self_attn)
    copy_linear(ours.feed.up, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed.down, theirs.linear2.weight, theirs.linear2.bias)
    norms = [ours.attend_norm, ours.feed_norm]
    if cross:
        copy_heads(ours.cross, theirs.multihead_attn)
        norms.insert(1, ours.cross_norm)
    for number, own in enumerate(norms, start=1):
        norm = getattr(theirs, f"norm{number}")
        copy_linear(own, norm.weight, norm.bias)
    return ours


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("feed", "name"), [(ReLU(), "relu"), (GELU(), "gelu")])
@pytest.mark.parametrize("wiring", [PreNorm(), PostNorm()])
@pytest.mark.parametrize("cross", [False, True])
def test_a_block_is_torchs_layer(feed, name, wiring, cross, causal):
    kind = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    theirs = kind(
        WIDTH, HEADS, 4 * WIDTH, 0.0, activation=name, batch_first=True, norm_first=isinstance(wiring, PreNorm)
    )
    randomise(theirs)
    ours = our_block(theirs, feed, wiring, cross)
    x, memory = torch.randn(3, 7, WIDTH), torch.randn(3, 5, WIDTH)
    valid, remembered = valid_of([7, 4, 1]), valid_of([5, 2, 1])
    mask = Causal() & Padding(valid) if causal else Padding(valid)
    future = ~torch.ones(7, 7, dtype=torch.bool).tril() if causal else None
    if cross:
        expected = theirs(x, memory, future, None, ~valid, ~remembered)
        close(ours(x, Context(mask, memory=memory, memory_mask=Padding(remembered))), expected, 1e-4)
    else:
        close(ours(x, Context(mask)), theirs(x, future, ~valid), 1e-4)


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_grouped_heads_equal_full_heads_with_repeated_weights(kv_heads):
    heads, width = 4, 4 * SIZE
    grouped, full = MultiHead(width, heads, kv_heads=kv_heads), MultiHead(width, heads)
    weights = grouped.state_dict()
    for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
        by_head = weights[name].unflatten(0, (kv_heads, SIZE))
        weights[name] = by_head.repeat_interleave(heads // kv_heads, 0).flatten(0, 1)
    full.load_state_dict(weights)
    x, code, places = torch.randn(3, 9, width), Rotary().build(width, heads, SIZE, True), Positions.counting(9)
    close(grouped(x, None, Causal(), code, places), full(x, None, Causal(), code, places))


def test_additive_attention_is_bahdanaus_network():
    attend, (q, k, v) = build_attention(Additive()), lookup(5)
    output, pattern = attend.watch(q, k, v)
    for head in range(HEADS):
        w = attend.weight[head].flatten()
        for query in range(5):
            scores = torch.stack([torch.tanh(q[:, head, query] + k[:, head, key]) @ w for key in range(5)], -1)
            close(pattern[:, head, query], scores.softmax(-1))
            close(output[:, head, query], (scores.softmax(-1)[..., None] * v[:, head]).sum(1))


def test_linformer_looks_at_folded_keys():
    attend, (q, k, v) = build_attention(Linformer(slots=4, length=30)), lookup(20)
    keys = torch.einsum("st,bhtd->bhsd", attend.fold_keys[:, :20], k)
    values = torch.einsum("st,bhtd->bhsd", attend.fold_values[:, :20], v)
    close(attend(q, k, v), F.scaled_dot_product_attention(q, keys, values))


def test_linformer_beyond_its_length_names_both():
    with pytest.raises(ConfigError, match=r"30 .* 31"):
        build_attention(Linformer(slots=4, length=30))(*lookup(31))


def test_compressed_attention_is_a_strided_convolution_and_a_first_slot():
    attend, (q, k, v) = build_attention(Compressed(stride=3)), lookup(18)

    def convolved(x: torch.Tensor, weight: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        kernel = weight.unflatten(1, (3, SIZE)).transpose(1, 2)  # torch wants output, input, place
        short = F.conv1d(x.flatten(0, 1).transpose(1, 2), kernel, stride=3).transpose(1, 2).unflatten(0, (3, HEADS))
        return torch.cat([first.expand(3, -1, -1, -1), short], 2)

    keys = convolved(k, attend.compress_keys.weight, attend.first_key)
    values = convolved(v, attend.compress_values.weight, attend.first_value)
    close(attend(q, k, v), F.scaled_dot_product_attention(q, keys, values))
    complete = torch.tensor([[3 * slot <= query + 1 for slot in range(7)] for query in range(18)])
    close(attend(q, k, v, Causal()), F.scaled_dot_product_attention(q, keys, values, attn_mask=complete))


def test_heads_must_divide_what_they_share():
    with pytest.raises(ConfigError, match="heads 4 is not divisible by kv_heads 3"):
        MultiHead(32, 4, kv_heads=3)
    with pytest.raises(ConfigError, match="width 30 is not divisible by heads 4"):
        MultiHead(30, 4)


@pytest.mark.parametrize("norm", [LayerNorm(), RMSNorm()])
def test_query_norm_makes_scores_blind_to_the_scale_of_queries_and_keys(norm):
    x = torch.randn(3, 9, WIDTH)
    patterns = []
    for scale in (1.0, 50.0):
        torch.manual_seed(5)
        heads = MultiHead(WIDTH, HEADS, norm=norm, bias=False)
        for part in (heads.query, heads.key):
            part.weight.data *= scale
        with listen(heads) as heard:
            heads(x)
        patterns.append(heard["pattern"])
    close(patterns[1], patterns[0], 1e-3)  # eps is a part of the norm


def test_a_head_size_of_ones_own_needs_no_division():
    heads = MultiHead(10, 3, head_size=8)
    assert heads(torch.randn(2, 5, 10)).shape == (2, 5, 10)
    assert heads.query.weight.shape == (24, 10)


def test_a_position_that_does_nothing_changes_nothing():
    heads, x = MultiHead(WIDTH, HEADS), torch.randn(2, 5, WIDTH)
    code = NoPosition().build(WIDTH, HEADS, SIZE, False)
    assert torch.equal(heads(x, None, None, code, Positions.counting(5)), heads(x))
