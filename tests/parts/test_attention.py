"""What every attention keeps to, read from the union: a new variant is tested by joining it."""

import os

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Tensor

from regard.core.errors import ConfigError
from regard.parts import ALiBi, Attention, BigBird, Causal, Full, MaskTensor, MultiHead, Padding, SameDocument
from regard.parts.attention.base import everywhere
from tests.helpers import (
    HEADS,
    bias_of,
    build_attention,
    close,
    every_small,
    gradients,
    lookup,
    name_of,
    over_attention,
    some_bias,
    some_lengths,
    some_masks,
    valid_of,
)


def situations() -> pytest.MarkDecorator:
    """Every attention, under each mask that it accepts, without and with a bias where it takes one."""
    cases = [
        pytest.param(config, mask, biased, id=f"{name_of(config)}-{mask}{'-biased' * biased}")
        for config in every_small(Attention)
        for mask in some_masks(config, length=4)
        for biased in [False, True][: 1 + config.takes_bias]
    ]
    return pytest.mark.parametrize(("config", "mask", "biased"), cases)


def hides_future(config: Attention) -> bool:
    return config.hides_future


@situations()
def test_watching_changes_no_answer(config, mask, biased):
    attend, bias = build_attention(config), bias_of(some_bias() if biased else None)
    for length in (1, 2, 7, 64, 130):
        given = *lookup(length), some_masks(config, length)[mask], bias
        close(attend(*given), attend.watch(*given)[0])


@situations()
def test_rows_of_the_pattern_sum_to_one_or_see_nothing(config, mask, biased):
    attend, bias = build_attention(config), bias_of(some_bias() if biased else None)
    for length in (1, 7, 64):
        rule, index = some_masks(config, length)[mask], torch.arange(length)
        output, pattern = attend.watch(*lookup(length), rule, bias)
        assert (pattern >= 0).all()
        total = pattern.sum(-1)
        sees_nothing = total == 0
        close(total, (~sees_nothing).float())
        assert (output[sees_nothing] == 0).all()
        sees_itself = torch.ones(1, length, dtype=torch.bool) if rule is None else rule.at(index, index)
        assert not (sees_nothing & sees_itself[:, None]).any()


@over_attention()
@pytest.mark.parametrize("biased", [False, True])
def test_where_nothing_is_real_nothing_is_read(config, biased):
    """A text that is all padding finds the same whatever stands there, with gradients that are numbers."""
    if biased and not config.takes_bias:
        with pytest.raises(ConfigError, match="bias"):
            build_attention(config)(*lookup(4), None, bias_of(some_bias()))
        return
    attend, (q, k, v) = build_attention(config), lookup(33)
    q.requires_grad_()
    mask, bias = Padding(valid_of([33, 5, 0])), bias_of(some_bias() if biased else None)
    output = attend(q, k, v, mask, bias)
    other = attend(q, torch.randn_like(k), torch.randn_like(v), mask, bias)
    close(output[2], other[2])
    assert output.isfinite().all()
    assert gradients(output, [q])[0].isfinite().all()


@over_attention()
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_padding_never_changes_an_answer(config, causal, biased):
    attend, bias = build_attention(config), bias_of(some_bias() if biased and config.takes_bias else None)
    causal = causal and config.hides_future
    for length, extra in [(1, 1), (1, 30), (7, 1), (7, 3), (33, 2), (33, 30)]:
        q, k, v = lookup(length + extra)
        padding = Padding(valid_of([length] * 3, length + extra))
        padded = attend(q, k, v, Causal() & padding if causal else padding, bias)
        bare = attend(*(x[..., :length, :] for x in (q, k, v)), Causal() if causal else None, bias)
        close(padded[..., :length, :], bare)


@over_attention(hides_future)
@pytest.mark.parametrize("length", [2, 7, 64])
def test_no_future_leaks_through_a_causal_mask(config, length):
    attend, (q, k, v) = build_attention(config), lookup(length)
    output = attend(q, k, v, Causal())
    for now in {0, length // 3, length // 2, length - 2}:
        later = [torch.cat([x[..., : now + 1, :], torch.randn_like(x[..., now + 1 :, :])], -2) for x in (q, k, v)]
        close(attend(*later, Causal())[..., : now + 1, :], output[..., : now + 1, :])


@over_attention(lambda config: not config.hides_future)
def test_an_attention_that_cannot_hide_the_future_says_so(config):
    with pytest.raises(ConfigError):
        build_attention(config)(*lookup(4), Causal())


@over_attention(hides_future)
@pytest.mark.parametrize("biased", [False, True])
def test_one_query_at_a_time_equals_all_at_once(config, biased):
    """What a cache relies on: a query finds the same when the keys after it have not been written yet."""
    attend, (q, k, v) = build_attention(config), lookup(40)
    bias = bias_of(some_bias() if biased and config.takes_bias else None)
    output = attend(q, k, v, Causal(), bias)
    for end in range(1, 41):
        one = attend(q[..., end - 1 : end, :], k[..., :end, :], v[..., :end, :], Causal(), bias)
        close(one, output[..., end - 1 : end, :])


@situations()
def test_the_last_queries_find_what_they_find_among_all(config, mask, biased):
    attend, (q, k, v) = build_attention(config), lookup(47)
    rule, bias = some_masks(config, 47)[mask], bias_of(some_bias() if biased else None)
    output = attend(q, k, v, rule, bias)
    for queries in (1, 2, 5):
        close(attend(q[..., -queries:, :], k, v, rule, bias), output[..., -queries:, :])


@over_attention()
@pytest.mark.parametrize("length", [1, 7, 64])
def test_a_text_reads_the_same_alone_and_in_a_batch(config, length):
    attend, (q, k, v) = build_attention(config), lookup(length)
    lengths = some_lengths(length)
    output = attend(q, k, v, Padding(valid_of(lengths)))
    for row, own in enumerate(lengths):
        alone = attend(*(x[row : row + 1, :, :own] for x in (q, k, v)))
        close(output[row : row + 1, :, :own], alone)


@situations()
def test_gradients_reach_all_and_equal_those_of_the_watched_path(config, mask, biased):
    attend, code = build_attention(config, torch.float64), some_bias(torch.float64) if biased else None
    q, k, v = (x.requires_grad_() for x in lookup(47, dtype=torch.float64))
    rule = some_masks(config, 47)[mask]
    inputs = [q, k, v, *attend.parameters(), *(code.parameters() if code else ())]
    fast = gradients(attend(q, k, v, rule, bias_of(code)), inputs)
    explicit = gradients(attend.watch(q, k, v, rule, bias_of(code))[0], inputs)
    for one, other in zip(fast, explicit, strict=True):
        close(one, other, 1e-9)
    sees_only_itself = getattr(config, "reach", 2) == 1  # a choice of one: no score can matter
    for number, gradient in enumerate(fast):
        assert gradient.any() or (sees_only_itself and number != 2)


def cut(x: Tensor, lengths: list[int]) -> list[Tensor]:
    return list(x.split(lengths, -2))


# BigBird's blocks count from the start of the row, so a text packed behind another meets other blocks.
@over_attention(lambda config: config.hides_future and not isinstance(config, BigBird))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_packed_texts_read_as_they_do_separately(config, causal, biased):
    attend, bias = build_attention(config), bias_of(some_bias() if biased and config.takes_bias else None)
    lengths = [12, 24, 11]  # a slot of memory-compressed attention must not span two texts
    q, k, v = lookup(sum(lengths), batch=1)
    segment = torch.arange(3).repeat_interleave(torch.tensor(lengths))[None]
    mask = SameDocument(segment) & Causal() if causal else SameDocument(segment)
    packed = attend(q, k, v, mask, bias)
    separate = [
        attend(*text, Causal() if causal else None, bias)
        for text in zip(*(cut(x, lengths) for x in (q, k, v)), strict=True)
    ]
    close(packed, torch.cat(separate, -2))


@over_attention(hides_future)
@pytest.mark.parametrize("lengths", [[12, 24, 11], [7, 1, 40]])
def test_no_text_looks_into_another_it_is_packed_with(config, lengths):
    attend, (q, k, v) = build_attention(config), lookup(sum(lengths), batch=1)
    mask = SameDocument(torch.arange(3).repeat_interleave(torch.tensor(lengths))[None])
    output = attend(q, k, v, mask)
    first = lengths[0]
    for x in (k, v):
        x[..., :first, :] = torch.randn(first, x.shape[-1])
    again = attend(q, k, v, mask)
    close(again[..., first:, :], output[..., first:, :])
    assert not torch.allclose(again[..., :first, :], output[..., :first, :])


@over_attention()
def test_every_attention_is_linear_in_its_values(config):
    """Where to look depends on queries and keys alone; what is found is an average of values."""
    attend, (q, k, v), other = build_attention(config, torch.float64), lookup(33, dtype=torch.float64), lookup(33)[2]
    if hasattr(attend, "first_value"):
        torch.nn.init.zeros_(attend.first_value)  # its own learned value is no value of the text
    mixed = attend(q, k, 2 * v - 3 * other.double())
    close(mixed, 2 * attend(q, k, v) - 3 * attend(q, k, other.double()), 1e-9)


def test_a_mask_that_is_the_same_for_all_queries_is_not_written_out_for_each():
    q, k = torch.randn(2, 1, 2, 4000, 4)
    allowed, _ = everywhere(q, k, Padding(torch.ones(1, 4000, dtype=torch.bool)), None)
    assert allowed is not None
    assert allowed.numel() == 4000, "and not its square"


def test_a_model_in_bfloat16_learns_on_a_processor():
    model = MultiHead(16, 2).bfloat16()
    x = torch.randn(2, 5, 16, dtype=torch.bfloat16)
    model(x, mask=Causal()).sum().backward()
    assert model.query.weight.grad is not None


@pytest.mark.parametrize("most", [0, 2**30], ids=["kernel", "pattern"])
@pytest.mark.parametrize(
    ("mask", "bias"),
    [
        pytest.param(None, None, id="everything"),
        pytest.param(Causal(), None, id="causal"),
        pytest.param(Causal() & Padding(valid_of([20, 9, 1])), None, id="padding"),
        pytest.param(Causal(), bias_of(ALiBi().build(8, HEADS, 4, causal=True)), id="bias"),
    ],
)
def test_training_in_bfloat16_gives_the_gradients_of_float32(mask, bias, most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.parts.attention.full.PLAIN", most)
    attend, inputs = build_attention(Full()), [x.bfloat16().float().requires_grad_() for x in lookup(20)]
    wanted = attend(*inputs, mask, bias)
    wanted.square().sum().backward()
    small = [x.detach().bfloat16().requires_grad_() for x in inputs]
    given = attend(*small, mask, bias)
    given.float().square().sum().backward()
    assert given.dtype == torch.bfloat16
    for one, other in zip((wanted, *(x.grad for x in inputs)), (given, *(x.grad for x in small)), strict=True):
        assert (one - other.float()).norm() < 0.02 * one.norm()


@pytest.mark.parametrize("causal", [False, True])
def test_a_written_out_mask_equals_the_rule_that_wrote_it(causal):
    """No attention may need to know a mask's class to be right."""
    index = torch.arange(20)
    rule = (Causal() & Padding(valid_of([20, 9, 1]))) if causal else Padding(valid_of([20, 9, 1]))
    given = MaskTensor(rule.at(index[:, None], index[None, :]))
    attend, (q, k, v) = build_attention(Full()), lookup(20)
    close(attend(q, k, v, given), attend(q, k, v, rule))


@pytest.mark.skipif(os.environ.get("REGARD_SHAPES") == "0", reason="shape checks are switched off")
def test_shapes_are_checked_under_test():
    q, k, v = lookup(4)
    with pytest.raises(TypeCheckError):
        build_attention(Full())(q, k[:, :1], v)
