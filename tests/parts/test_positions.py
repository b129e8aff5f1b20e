"""Each position code by the property that defines it."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.t5.modeling_t5 import T5Attention

from regard.core.errors import ConfigError, UserError
from regard.parts import (
    ALiBi,
    BigBird,
    Causal,
    Learned,
    MultiHead,
    Position,
    Positions,
    Rotary,
    Shaw,
    Sinusoid,
    T5Bias,
    Tree,
    Window,
)
from regard.parts.positions import tree_depth, tree_distance
from regard.parts.positions.alibi import slopes
from regard.parts.positions.sinusoid import waves
from regard.parts.positions.t5_bias import buckets
from tests.helpers import HEADS, SIZE, WIDTH, close, every_small, name_of, over, tree_places

INDEX = torch.arange(12)


def build(config, causal: bool = False):
    return config.build(WIDTH, HEADS, SIZE, causal)


def written(code, places: Positions, q: torch.Tensor) -> torch.Tensor:
    """The bias of every query with every key."""
    index = torch.arange(q.shape[-2])
    return code.bias(places).at(q, index[:, None], index[None, :])


@over(Position, "config")
def test_a_code_says_whether_it_adds_to_scores(config):
    """`relates` is what keeps a code away from an attention that has no score for each key."""
    has_bias = build(config).bias(tree_places([6])) is not None
    assert has_bias == config.relates


@over(Position, "config")
def test_a_bias_is_the_same_in_blocks_as_all_at_once(config):
    code, places, q = build(config), tree_places([12, 12]), torch.randn(2, HEADS, 12, SIZE)
    if not config.relates:
        assert code.bias(places) is None
        return
    whole = written(code, places, q).expand(2, HEADS, 12, 12)
    query, key = INDEX.view(3, 4, 1), torch.tensor([[[3, 0, 11]], [[5, 5, 1]], [[2, 9, 8]]])
    parted = code.bias(places).at(q.unflatten(2, (3, 4)), query, key).expand(2, HEADS, 3, 4, 3)
    for block in range(3):
        close(parted[:, :, block], whole[:, :, 4 * block : 4 * block + 4][..., key[block, 0]])


@pytest.mark.parametrize("config", [c for c in every_small(Position) if not isinstance(c, Tree)], ids=name_of)
def test_a_later_start_continues_the_count(config):
    """Decoding from a cache: token 7 alone carries what it carries in its text. (A tree is never continued.)"""
    code, x, turned = build(config), torch.randn(1, 12, WIDTH), torch.randn(1, HEADS, 12, SIZE)
    for start in (0, 7):
        part, later = slice(start, None), Positions.counting(12 - start, start)
        close(code.embed(x[:, part], later), code.embed(x, Positions.counting(12))[:, part])
        close(code.turn(turned[:, :, part], later), code.turn(turned, Positions.counting(12))[:, :, part])


def test_rotary_scores_depend_on_distance_only():
    code, q, k = build(Rotary()), torch.randn(1, 1, 1, SIZE), torch.randn(1, 1, 1, SIZE)

    def score(query: int, key: int) -> torch.Tensor:
        at = [code.turn(x, Positions(torch.tensor([[place]]))) for x, place in ((q, query), (k, key))]
        return (at[0] * at[1]).sum()

    for distance in range(5):
        for start in (1, 30, 400):
            close(score(start + distance, start), score(distance, 0), 1e-4)
    assert not torch.isclose(score(3, 0), score(4, 0))


@over(Position, "config")
def test_inside_the_heads_only_distances_count(config):
    """Every code enters the scores relatively: moving a whole text along changes nothing."""
    heads, code, x = MultiHead(WIDTH, HEADS), build(config), torch.randn(2, 12, WIDTH)
    here = tree_places([12, 12])
    there = replace(here, index=here.index + 30)
    close(heads(x, None, None, code, there), heads(x, None, None, code, here), 1e-4)


def test_rotary_keeps_the_length_of_what_it_turns():
    x = torch.randn(2, HEADS, 12, SIZE)
    close(build(Rotary()).turn(x, Positions.counting(12)).norm(dim=-1), x.norm(dim=-1))


def test_rotary_turns_each_pair_by_its_own_rate():
    """A complex number times e^(i·place·rate), where the halves of a head are its real and imaginary parts."""
    x = torch.randn(1, 1, 12, SIZE)
    number = torch.complex(*x.chunk(2, -1))
    rates = torch.tensor([10000 ** (-2 * pair / SIZE) for pair in range(SIZE // 2)])
    expected = number * torch.exp(1j * INDEX[:, None] * rates)
    close(build(Rotary()).turn(x, Positions.counting(12)), torch.cat([expected.real, expected.imag], -1))


def test_alibi_has_the_slopes_of_the_paper():
    assert slopes(8) == pytest.approx([1 / 2**power for power in range(1, 9)])
    assert slopes(16) == pytest.approx([2 ** (-power / 2) for power in range(1, 17)])


@pytest.mark.parametrize("heads", [3, 5, 6, 7, 12, 20])
def test_alibi_fills_the_gaps_from_twice_as_many(heads):
    """The authors' recipe where heads is not a power of two: every other slope of the next power."""
    whole = 2 ** math.floor(math.log2(heads))
    assert slopes(heads) == pytest.approx(slopes(whole) + slopes(2 * whole)[0::2][: heads - whole])
    assert len(set(slopes(heads))) == heads


def test_alibi_falls_straight_with_distance():
    bias = written(build(ALiBi()), Positions.counting(12), torch.randn(1, HEADS, 12, SIZE))
    for head, slope in enumerate(slopes(HEADS)):
        for query in range(12):
            for key in range(12):
                assert bias[0, head, query, key] == pytest.approx(-slope * abs(query - key))


@pytest.mark.parametrize("step", [1, 5, 50])
def test_a_sinusoid_some_steps_on_is_a_linear_function_of_it(step):
    """One matrix for all places: each pair of sine and cosine turns by its own angle."""
    table, half = waves(torch.arange(200), WIDTH, 10000.0), WIDTH // 2
    turn = torch.zeros(WIDTH, WIDTH)
    for pair in range(half):
        angle = step / 10000 ** (2 * pair / WIDTH)
        turn[pair, pair] = turn[half + pair, half + pair] = math.cos(angle)
        turn[half + pair, pair], turn[pair, half + pair] = math.sin(angle), -math.sin(angle)
    close(table[:-step] @ turn, table[step:], 1e-4)


def test_a_sinusoid_is_the_formula_of_the_paper():
    table = waves(INDEX, WIDTH, 10000.0)
    for place in range(12):
        for pair in range(WIDTH // 2):
            angle = place / 10000 ** (2 * pair / WIDTH)
            assert table[place, pair] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[place, WIDTH // 2 + pair] == pytest.approx(math.cos(angle), abs=1e-6)


def test_learned_positions_end_with_their_table_and_say_so():
    code = build(Learned(length=6))
    assert code.embed(torch.zeros(2, 6, WIDTH), Positions.counting(6)).shape == (2, 6, WIDTH)
    with pytest.raises(ConfigError) as error:
        code.embed(torch.zeros(2, 7, WIDTH), Positions.counting(7))
    assert "7" in str(error.value)
    assert "6" in str(error.value)
    with pytest.raises(ConfigError, match="9"):
        code.embed(torch.zeros(2, 1, WIDTH), Positions.counting(1, start=8))


@pytest.mark.parametrize("config", [c for c in every_small(Position) if not isinstance(c, Learned)], ids=name_of)
def test_every_other_position_knows_no_longest_text(config):
    places = tree_places([300])
    code, x = build(config), torch.randn(1, 300, WIDTH)
    assert code.embed(x, places).isfinite().all()
    assert code.turn(x[:, None, :, :SIZE], places).isfinite().all()


@given(
    count=st.sampled_from([4, 8, 20, 32]), beyond=st.integers(1, 200), both=st.booleans(), start=st.integers(-400, 400)
)
def test_buckets_are_those_of_t5(count, beyond, both, start):
    distance, far = torch.arange(start, start + 50), count // 2 + beyond
    expected = T5Attention._relative_position_bucket(distance, bidirectional=both, num_buckets=count, max_distance=far)
    assert torch.equal(buckets(distance, count, far, causal=not both), expected)


def test_bucket_bias_is_a_lookup_in_its_table():
    code = build(T5Bias(count=8, far=20), causal=True)
    bias = written(code, Positions.counting(12), torch.randn(1, HEADS, 12, SIZE))
    for query in range(12):
        for key in range(12):
            bucket = int(buckets(torch.tensor(key - query), 8, 20, causal=True))
            close(bias[0, :, query, key], code.table.weight[bucket])


def test_relative_bias_is_the_querys_match_with_the_clipped_distance():
    reach, q = 3, torch.randn(2, HEADS, 12, SIZE)
    code = build(Shaw(reach=reach))
    bias = written(code, Positions.counting(12), q)
    for query in range(12):
        for key in range(12):
            vector = code.table[max(-reach, min(reach, key - query)) + reach]
            close(bias[:, :, query, key], q[:, :, query] @ vector / math.sqrt(SIZE))


def test_tree_bias_clips_the_steps_through_the_tree():
    q, places = torch.randn(2, HEADS, 12, SIZE), tree_places([12, 9])
    code = build(Tree(reach=2))
    bias = written(code, places, q)
    for row in range(2):
        for query in range(12):
            for key in range(12):
                steps = max(-2, min(2, int(places.distance[row, query, key])))
                close(bias[row, :, query, key], q[row, :, query] @ code.table[steps + 2] / math.sqrt(SIZE))
    close(code.embed(torch.zeros(2, 12, WIDTH), places), waves(places.depth, WIDTH, 10000.0))


@st.composite
def trees(draw) -> list[int]:
    """Heads of a random tree with its words in random order."""
    length = draw(st.integers(1, 12))
    order = draw(st.permutations(range(length)))
    heads = [-1] * length
    for place in range(1, length):
        heads[order[place]] = order[draw(st.integers(0, place - 1))]
    return heads


def steps_from(start: int, heads: list[int]) -> dict[int, int]:
    """Steps from a word to every other, by breadth-first search over the edges."""
    steps, frontier = {start: 0}, [start]
    while frontier:
        word = frontier.pop(0)
        for other in [*(w for w, head in enumerate(heads) if head == word), heads[word]]:
            if other >= 0 and other not in steps:
                steps[other] = steps[word] + 1
                frontier.append(other)
    return steps


@given(trees())
def test_tree_depth_and_distance_are_those_of_a_search(heads):
    root = heads.index(-1)
    assert tree_depth(heads) == [steps_from(root, heads)[word] for word in range(len(heads))]
    distance = tree_distance(heads)
    for word in range(len(heads)):
        for other, steps in steps_from(word, heads).items():
            assert distance[word][other] == (steps if other > word else -steps)


@given(trees(), st.data())
def test_a_cycle_is_an_error_that_names_the_word(heads, data):
    word = data.draw(st.integers(0, len(heads) - 1))
    below = [w for w in range(len(heads)) if word in ancestors(w, heads)]
    heads[word] = data.draw(st.sampled_from(below))  # hang a word from one that hangs from it, or from itself
    for function in (tree_depth, tree_distance):
        with pytest.raises(UserError, match=r"word \d+ of \d+ does not hang from the root"):
            function(heads)


def ancestors(word: int, heads: list[int]) -> list[int]:
    path = [word]
    while heads[path[-1]] >= 0:
        path.append(heads[path[-1]])
    return path


def test_a_head_outside_the_sentence_is_an_error():
    with pytest.raises(UserError, match="does not hang from the root"):
        tree_depth([-1, 2])


def test_tree_positions_without_a_tree_ask_for_one():
    with pytest.raises(UserError, match="dependency tree"):
        build(Tree()).embed(torch.zeros(1, 3, WIDTH), Positions.counting(3))
    with pytest.raises(UserError, match="dependency tree"):
        build(Tree()).bias(Positions(torch.arange(3)[None], depth=torch.zeros(1, 3, dtype=torch.long)))
    with pytest.raises(ConfigError, match="parse"):
        build(Tree(), causal=True)


@pytest.mark.parametrize(
    ("config", "width", "size"), [(Sinusoid(), 7, 4), (Rotary(), 8, 3)], ids=["Sinusoid", "Rotary"]
)
def test_pairs_need_an_even_width(config, width, size):
    with pytest.raises(ConfigError, match="odd"):
        config.build(width, 2, size, False)


@pytest.mark.parametrize("attention", [Window(reach=5), BigBird(block=4)], ids=name_of)
@pytest.mark.parametrize("config", [c for c in every_small(Position) if c.relates], ids=name_of)
def test_sparse_attention_asks_a_bias_where_it_looks(attention, config):
    """Through the heads: the gathered blocks and the watched matrix meet the same bias, batch by batch."""
    heads, code = MultiHead(WIDTH, HEADS, attention), build(config)
    x, places = torch.randn(2, 40, WIDTH), tree_places([40, 33])
    output = heads(x, None, None, code, places)
    heads.pattern._listeners.append(lambda pattern: None)
    close(heads(x, None, None, code, places), output)
    if not isinstance(config, Tree):
        heads.pattern._listeners.clear()
        causal = heads(x, None, Causal(), code, places)
        heads.pattern._listeners.append(lambda pattern: None)
        close(heads(x, None, Causal(), code, places), causal)
