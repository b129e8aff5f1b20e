"""Parts that other libraries' models are made of, each against its formula."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from regard.core.errors import ConfigError
from regard.models import BERT, GPT, NoHead, SpanHead, ViT
from regard.parts import (
    AcrossHeads,
    ALiBi,
    BranchNorm,
    ClassAndMean,
    Combined,
    DynamicScaling,
    Experts,
    Full,
    LayerNorm,
    LayerScale,
    Learned,
    LongScaling,
    MultiHead,
    NoPosition,
    Parallel,
    Positions,
    RMSNorm,
    Rotary,
    Sandwich,
    SharedNorm,
    Softcap,
    T5Bias,
    Window,
    YarnScaling,
    listen,
)
from regard.parts.feed import GELU
from regard.tasks.run import save_run
from tests.helpers import HEADS, WIDTH, close

SIZES = {"vocab": 20, "width": WIDTH, "heads": HEADS, "dropout": 0.0}


def block(wiring, **parts):
    made = wiring.block(WIDTH, MultiHead(WIDTH, HEADS), GELU().build(WIDTH), LayerNorm(), **parts)
    for module in made.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.normal_(module.weight)
    return made


def test_wirings_are_their_formulas():
    x = torch.randn(2, 5, WIDTH)
    b = block(Parallel())
    close(b(x), x + b.attend(b.attend_norm(x)) + b.feed(b.feed_norm(x)))
    b = block(SharedNorm())
    close(b(x), x + b.attend(b.attend_norm(x)) + b.feed(b.attend_norm(x)))
    b = block(BranchNorm())
    looked = x + b.attend_norm(b.attend(x))
    close(b(x), looked + b.feed_norm(b.feed(looked)))
    b = block(Sandwich())
    looked = x + b.attend_end(b.attend(b.attend_norm(x)))
    close(b(x), looked + b.feed_end(b.feed(b.feed_norm(looked))))


@pytest.mark.parametrize("scale", [0.3, LayerScale(0.3)])
def test_a_residual_scale_multiplies_what_is_added(scale):
    b, x = block(Parallel(), scale=scale), torch.randn(2, 5, WIDTH)
    close(b(x), x + 0.3 * (b.attend(b.attend_norm(x)) + b.feed(b.feed_norm(x))))


def test_a_softcap_bounds_the_scores():
    q, k, v = (torch.randn(2, HEADS, 6, 8) * 3 for _ in range(3))
    for config in (Full(0.5, Softcap(2.0)), Window(6, 0.5, Softcap(2.0))):
        attention = config.build(HEADS, 8)
        expected = (2 * torch.tanh(q @ k.mT * 0.5 / 2)).softmax(-1)
        output, pattern = attention.watch(q, k, v)
        close(pattern, expected)
        close(attention(q, k, v), expected @ v)
        close(output, expected @ v)


def test_a_norm_across_heads_is_taken_before_they_are_split():
    heads = MultiHead(WIDTH, HEADS, kv_heads=1, norm=AcrossHeads(RMSNorm()))
    nn.init.normal_(heads.query_norm.weight)
    assert heads.query_norm.weight.shape == (WIDTH,)
    assert heads.key_norm.weight.shape == (WIDTH // HEADS,)
    plain = MultiHead(WIDTH, HEADS, kv_heads=1)
    plain.load_state_dict(heads.state_dict(), strict=False)
    plain.query, plain.key = (
        nn.Sequential(heads.query, heads.query_norm),
        nn.Sequential(heads.key, heads.key_norm),
    )
    x = torch.randn(2, 5, WIDTH)
    close(heads(x), plain(x))


def test_a_fraction_of_a_head_turns():
    x, positions = torch.randn(1, 2, 6, 8), Positions.counting(6)
    part, whole = Rotary(fraction=0.5).build(16, 2, 8, True), Rotary().build(8, 2, 4, True)
    close(part.turn(x, positions), torch.cat([whole.turn(x[..., :4], positions), x[..., 4:]], -1))
    for fraction in (0.0, 1.5):
        with pytest.raises(ConfigError, match="fraction"):
            Rotary(fraction=fraction)


def test_scalings_change_the_rates():
    rates = 10000.0 ** -(torch.arange(0, 8, 2) / 8)
    close(DynamicScaling(2.0, 16).slow(rates, 10), rates)
    base = 10000.0 * (2 * 32 / 16 - 1) ** (8 / 6)
    close(DynamicScaling(2.0, 16).slow(rates, 32), base ** -(torch.arange(0, 8, 2) / 8))
    long = LongScaling((1.0, 1.0, 2.0, 2.0), (4.0,) * 4, 16, 1.5)
    close(long.slow(rates, 16), rates / torch.tensor([1.0, 1.0, 2.0, 2.0]))
    close(long.slow(rates, 17), rates / 4)
    yarn = YarnScaling(4.0, 64)
    slowed = yarn.slow(rates, 0)
    assert slowed[-1] == rates[-1] / 4, "what goes round less than once is stretched"
    assert yarn.gain() == pytest.approx(1 + 0.1 * math.log(4))
    with pytest.raises(ConfigError, match="divisors"):
        LongScaling((1.0,), (1.0,), 16).slow(rates, 3)


def test_combined_positions_are_both():
    learned, buckets = Learned(12), T5Bias(8, 12)
    both = Combined(learned, buckets).build(WIDTH, HEADS, 8, False)
    x, positions = torch.randn(2, 6, WIDTH), Positions.counting(6)
    close(both.embed(x, positions), both.embedding.embed(x, positions))
    assert both.bias(positions) is not None
    assert both.max_length == 12
    assert torch.equal(ALiBi(2.0).build(8, 2, 4, True).slopes, 2 * ALiBi().build(8, 2, 4, True).slopes)


def test_blocks_with_other_positions():
    config = GPT(**SIZES, layers=3, position=Rotary(), alternate_position=NoPosition(), alternate_layers=(1,))
    model, tokens = config.build().eval(), torch.randint(20, (1, 7))
    with listen(model) as heard:
        model(tokens)
    stack = model.decoder
    assert stack.alternate_layers == frozenset({1})
    turned = GPT(**SIZES, layers=3, position=Rotary()).build().eval()
    turned.load_state_dict(model.state_dict())
    with listen(turned) as other:
        turned(tokens)
    close(heard["decoder.0.attend.pattern"], other["decoder.0.attend.pattern"])
    assert not torch.allclose(heard["decoder.1.attend.pattern"], other["decoder.1.attend.pattern"], atol=1e-4)
    for wrong in ({"alternate_layers": (3,)}, {"alternate_position": None}):
        with pytest.raises(ConfigError, match="alternate_layers"):
            GPT(**SIZES | {"layers": 3, "alternate_position": NoPosition(), "alternate_layers": (1,)} | wrong)


def test_layers_that_share_their_weights(tmp_path: Path):
    config = BERT(**SIZES, layers=4, distinct_layers=2, head=NoHead())
    model, tokens = config.build().eval(), torch.randint(20, (2, 7))
    blocks = model.encoder.blocks
    assert blocks[2].attend.query.weight is blocks[0].attend.query.weight
    assert blocks[1].attend.query.weight is not blocks[0].attend.query.weight
    count = sum(p.numel() for p in model.parameters())
    assert count == sum(p.numel() for p in BERT(**SIZES, layers=2, head=NoHead()).build().parameters())
    with listen(model) as heard:
        model(tokens)
    assert len(heard) == 4, "each layer has a pattern of its own"
    save_run(tmp_path / "run", config, model)
    from regard.store.loaded import load_model

    close(load_model(tmp_path / "run").model(tokens), model(tokens))


def test_narrow_embeddings_and_heads():
    model = BERT(**SIZES, layers=1, embed_width=6, segments=0).build()
    assert model.embedding.table.weight.shape == (20, 6)
    assert model(torch.randint(20, (2, 7))).shape == (2, 7, 20)
    spans = BERT(**SIZES, layers=1, head=SpanHead()).build()
    assert spans(torch.randint(20, (2, 7))).shape == (2, 7, 2)


def test_registers_and_a_label_from_two_states():
    config = ViT(labels=3, image=8, patch=4, width=WIDTH, heads=HEADS, layers=1, pool=ClassAndMean(registers=2))
    model = config.build()
    assert model.pool.enter(torch.zeros(2, 4, WIDTH)).shape == (2, 7, WIDTH)
    states = torch.randn(2, 7, WIDTH)
    close(model.pool(states), torch.cat([states[:, 0], states[:, 3:].mean(1)], -1))
    assert model(torch.rand(2, 1, 8, 8)).shape == (2, 3)


def test_experts_mixed_over_all():
    mixed = Experts(count=4, active=2, mixed_over="all").build(WIDTH)
    x = torch.randn(3, WIDTH)
    weights = mixed.router(x).softmax(-1)
    expected = torch.stack(
        [sum(w[e] * mixed.experts[e](row) for e in w.topk(2).indices) for row, w in zip(x, weights, strict=True)]
    )
    close(mixed(x), expected)
