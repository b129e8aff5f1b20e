"""The cache against lists that simply grow."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.parts import Cache, Causal, KVCache, MultiHead, Padding, Positions, Rotary
from tests.helpers import HEADS, SIZE, WIDTH, close, valid_of


def some(length: int, batch: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, HEADS, length, SIZE), torch.randn(batch, HEADS, length, SIZE)


@given(
    capacity=st.integers(1, 8),
    moves=st.lists(st.one_of(st.integers(1, 9), st.lists(st.integers(0, 2), min_size=3, max_size=3)), max_size=12),
)
def test_a_cache_is_a_list_that_grows_and_is_reordered(capacity, moves):
    """A whole number appends that many tokens; a list of rows reorders, repeats and drops."""
    cache, keys, values = KVCache(capacity), *some(0)
    for move in moves:
        if isinstance(move, int):
            new = some(move)
            keys, values = torch.cat([keys, new[0]], 2), torch.cat([values, new[1]], 2)
            stored = cache.append(*new)
        else:
            rows = torch.tensor(move)
            cache.select(rows)
            keys, values = keys[rows], values[rows]
            if not cache.length:
                continue
            stored = cache.stored()
        assert torch.equal(stored[0], keys)
        assert torch.equal(stored[1], values)
        assert cache.length == keys.shape[2]


def test_a_batch_may_shrink_and_grow_on():
    cache = KVCache(2)
    first, then = some(2), some(3, batch=1)
    cache.append(*first)
    cache.select(torch.tensor([1]))
    assert torch.equal(cache.append(*then)[0], torch.cat([first[0][1:2], then[0]], 2))


def test_room_is_laid_out_ahead_and_not_made_for_each_token():
    cache = KVCache(16)
    places = {cache.append(*some(1))[0].data_ptr() for _ in range(16)}
    assert len(places) == 1


def test_a_cache_counts_what_it_has_read():
    cache = Cache(layers=2)
    assert cache.length == 0
    for layer in cache.layers:
        layer.append(*some(5))
    assert cache.length == 5
    assert cache.select(torch.tensor([2, 0])).layers[1].stored()[0].shape[0] == 2


@pytest.mark.parametrize("kv_heads", [None, 1])
def test_heads_read_token_by_token_what_they_read_at_once(kv_heads):
    heads, x = MultiHead(WIDTH, HEADS, kv_heads=kv_heads), torch.randn(3, 9, WIDTH)
    code, cache = Rotary().build(WIDTH, HEADS, SIZE, True), KVCache(2)
    whole = heads(x, None, Causal(), code, Positions.counting(9))
    for start, end in [(0, 4), (4, 5), (5, 9)]:
        part = heads(x[:, start:end], None, Causal(), code, Positions.counting(end - start, start), cache)
        close(part, whole[:, start:end])


def test_a_memory_is_projected_once():
    heads, memory, cache = MultiHead(WIDTH, HEADS), torch.randn(3, 7, WIDTH), KVCache(1)
    x, mask = torch.randn(3, 4, WIDTH), Padding(valid_of([7, 3, 1]))
    whole = heads(x, memory, mask)
    calls = []
    heads.key.register_forward_hook(lambda *_: calls.append(1))
    for token in range(4):
        close(heads(x[:, token : token + 1], memory, mask, cache=cache), whole[:, token : token + 1])
    assert len(calls) == 1
    assert cache.length == 7


def test_stacked_caches_are_views_of_one():
    caches, parts = [KVCache(2) for _ in range(3)], [some(5, batch=1) for _ in range(3)]
    for cache, part in zip(caches, parts, strict=True):
        cache.append(*part)
    stacked = KVCache.stack(caches)
    assert (stacked.rows, stacked.length) == (3, 5)
    for number, (keys, values) in enumerate(parts):
        view = stacked.view(slice(number, number + 1))
        assert torch.equal(view.stored()[0], keys)
        assert torch.equal(view.stored()[1], values)
        assert view.stored()[0].untyped_storage().data_ptr() == stacked.stored()[0].untyped_storage().data_ptr()
    assert torch.equal(stacked.view(slice(1, 3)).stored()[1], torch.cat([values for _, values in parts[1:]]))
