"""Window and BigBird by gathered blocks, against a mask that plain loops write out from the documented rule."""

import pytest
import torch
import torch.nn.functional as F

from regard.parts import BigBird, Causal, Padding, Window
from regard.parts.attention import blocks
from regard.parts.attention.bigbird import random_blocks
from regard.parts.attention.full import FullAttention
from tests.helpers import (
    HEADS,
    SIZE,
    SMALL,
    bias_of,
    build_attention,
    close,
    gradients,
    lookup,
    name_of,
    some_bias,
    valid_of,
)

SPARSE = [*SMALL[Window], *SMALL[BigBird], BigBird(block=2, window=3, globals=3, random=3), BigBird(block=64)]


def allowed_by_rule(config: Window | BigBird, query: int, key: int, length: int, causal: bool) -> bool:
    if causal and key > query:
        return False
    if isinstance(config, Window):
        return abs(query - key) <= config.reach - 1
    mine, other = query // config.block, key // config.block
    if mine < config.globals or other < config.globals:
        return True
    if abs(mine - other) <= (config.window - 1) // 2:
        return True
    return other in random_blocks(config, -(-length // config.block), causal)[mine].tolist()


def dense_mask(config: Window | BigBird, lengths: list[int], longest: int, causal: bool) -> torch.Tensor:
    written = torch.zeros(len(lengths), longest, longest, dtype=torch.bool)
    for row, own in enumerate(lengths):
        for query in range(longest):
            for key in range(own):
                written[row, query, key] = allowed_by_rule(config, query, key, longest, causal)
    return written


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [3, 16, 47, 60])
@pytest.mark.parametrize("config", SPARSE, ids=name_of)
def test_gathered_blocks_equal_their_dense_mask_forwards_and_backwards(config, length, causal, biased):
    lengths = [length, length - 2, 1]
    q, k, v = (x.requires_grad_() for x in lookup(length, dtype=torch.float64))
    code = some_bias(torch.float64) if biased else None
    padding = Padding(valid_of(lengths))
    output = build_attention(config)(q, k, v, Causal() & padding if causal else padding, bias_of(code))

    index = torch.arange(length)
    terms = torch.zeros(3, 1, length, length, dtype=torch.float64)
    terms = terms.masked_fill(~dense_mask(config, lengths, length, causal)[:, None], -torch.inf)
    if code is not None:
        terms = terms + bias_of(code).at(q, index[:, None], index[None, :])
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=terms)
    close(output, expected, 1e-9)
    inputs = [q, k, v, *(code.parameters() if code else ())]
    for one, other in zip(gradients(output, inputs), gradients(expected, inputs), strict=True):
        close(one, other, 1e-9)


@pytest.fixture(params=[1, 2, 5])
def few_at_a_time(request, monkeypatch):
    """The path of long texts, which gathers a few query blocks at a time, for short ones."""
    monkeypatch.setattr(blocks, "MUCH", 0)
    size_of_a_row = (
        3 * 3 * 5 * HEADS * SIZE
    )  # batch, slots and block of Window(reach=5): others come out somewhere near
    monkeypatch.setattr(blocks, "FEW", request.param * size_of_a_row)
    taken = []
    look = blocks.FewAtATime.apply
    monkeypatch.setattr(blocks.FewAtATime, "apply", lambda *given: taken.append(len(given[4])) or look(*given))
    return taken


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("config", [*SMALL[Window], *SMALL[BigBird]], ids=name_of)
def test_a_few_blocks_at_a_time_are_all_at_once(config, causal, few_at_a_time):
    """Forwards and backwards, against the watched path, which gathers nothing."""
    lengths = [60, 47, 1]
    q, k, v = (x.requires_grad_() for x in lookup(60, dtype=torch.float64))
    padding = Padding(valid_of(lengths))
    given = q, k, v, Causal() & padding if causal else padding
    attend = build_attention(config)
    output, expected = attend(*given), attend.watch(*given)[0]
    assert few_at_a_time, "the path was not taken"
    assert few_at_a_time[0] > 1, "one group is all at once"
    close(output, expected, 1e-9)
    for one, other in zip(gradients(output, [q, k, v]), gradients(expected, [q, k, v]), strict=True):
        close(one, other, 1e-9)


@pytest.mark.parametrize("config", [*SMALL[Window], *SMALL[BigBird]], ids=name_of)
def test_a_few_blocks_at_a_time_train_after_decoding(config, few_at_a_time):
    """Tables of blocks are remembered; one that was made while decoding must serve the way back too."""
    q, k, v = lookup(70)
    with torch.inference_mode():
        build_attention(config)(q, k, v)
    q.requires_grad_()
    gradients(build_attention(config)(q, k, v), [q])
    assert len(few_at_a_time) == 2


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("config", [*SMALL[Window], *SMALL[BigBird]], ids=name_of)
def test_long_texts_never_take_the_dense_path(config, causal, monkeypatch):
    dense = FullAttention.forward

    def refuse(self, q, *others):
        assert q.shape[-2] < 10, "the square of the length was built"  # a few global queries do see every key
        return dense(self, q, *others)

    monkeypatch.setattr(FullAttention, "forward", refuse)
    build_attention(config)(*lookup(130), Causal() if causal else None)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_training_after_decoding_finds_its_remembered_blocks_usable(mode):
    config, (q, k, v) = BigBird(block=4, seed=77), lookup(50)
    with mode():
        build_attention(config)(q, k, v)
    q.requires_grad_()
    assert gradients(build_attention(config)(q, k, v), [q])[0].any()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("config", [BigBird(block=4), BigBird(window=1, globals=2, random=3)], ids=name_of)
def test_random_blocks_add_to_what_is_seen_anyway(config, causal):
    for mine, row in enumerate(random_blocks(config, 40, causal).tolist()):
        drawn = [other for other in row if other >= 0]
        assert len(row) == config.random
        assert len(set(drawn)) == len(drawn)
        assert all(config.globals <= other < (mine if causal else 40) for other in drawn)
        assert all(abs(mine - other) > config.window // 2 for other in drawn)
    if causal:
        assert len(drawn) == config.random  # the last block has enough to draw from


@pytest.mark.parametrize("causal", [False, True])
def test_random_blocks_of_a_block_do_not_depend_on_how_long_the_text_is(causal):
    config = BigBird(block=4)
    short, long = random_blocks(config, 12, causal), random_blocks(config, 40, causal)
    assert torch.equal(short, long[:12].masked_fill(long[:12] >= 12, -1))


def test_another_seed_draws_other_blocks():
    drawn = {tuple(random_blocks(BigBird(seed=seed), 40, False).flatten().tolist()) for seed in range(3)}
    assert len(drawn) == 3
