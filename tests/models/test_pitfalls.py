"""Well-known pitfalls, each shown to be real and each shown to be handled."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from regard.core.config import override
from regard.core.errors import ConfigError
from regard.core.model import build_model
from regard.models import BERT, GPT
from regard.parts import Full, Learned, MultiHead, NoPosition, Position, Sinusoid, ZeroInit, listen
from tests.helpers import close, every_small, lookup, name_of, tree_places
from tests.models.samples import BASES, VOCAB, build

# A decoder without its causal mask is caught by the leak test: tests/models/test_writing.py.


def shuffled_and_not(position) -> tuple[torch.Tensor, torch.Tensor]:
    """What an encoder says of a shuffled text, and what it said of the text, shuffled."""
    model = build(replace(BASES[BERT], position=position))
    tokens, order = torch.randperm(VOCAB)[None], torch.randperm(VOCAB)
    places = tree_places([VOCAB])  # the places stay where they are: only the words move
    return model(tokens[:, order], positions=places), model(tokens, positions=places)[:, order]


def test_attention_without_positions_sees_a_bag_of_words():
    close(*shuffled_and_not(NoPosition()))


@pytest.mark.parametrize("position", [p for p in every_small(Position) if p != NoPosition()], ids=name_of)
def test_every_position_code_breaks_the_symmetry(position):
    shuffled, not_shuffled = shuffled_and_not(position)
    assert not torch.allclose(shuffled, not_shuffled, atol=1e-3)


def test_a_causal_mask_alone_tells_some_order():
    """Why a decoder without positions still works: to one layer the past is a bag, to the next one it is not."""
    one, other = torch.tensor([[4, 7, 2]]), torch.tensor([[7, 4, 2]])
    shallow, deep = (build(replace(BASES[GPT], position=NoPosition(), layers=layers)) for layers in (1, 2))
    close(shallow(one)[:, 2], shallow(other)[:, 2])
    assert not torch.allclose(deep(one)[:, 2], deep(other)[:, 2], atol=1e-3)


def spread_of_scores(size: int, scale: float | None) -> float:
    """How widely the scores of random heads vary, read back from the pattern: the log of a weight is its score less
    one constant a query."""
    q, k, v = torch.randn(3, 1, 8, 64, size, dtype=torch.float64)
    pattern = Full(scale=scale).build(8, size).watch(q, k, v)[1]
    return pattern.log().std(-1).mean().item()


def test_unscaled_scores_grow_with_the_root_of_the_head_size_and_scaled_ones_do_not():
    for size in (16, 64, 256):
        assert spread_of_scores(size, scale=1.0) == pytest.approx(math.sqrt(size), rel=0.15)
        assert spread_of_scores(size, scale=None) == pytest.approx(1, rel=0.15)


def test_unscaled_attention_looks_at_one_key_and_stops_learning():
    """The consequence: the pattern saturates, and the gradient through it vanishes."""
    gradients, strongest = [], []
    for scale in (1.0, None):
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 1, 8, 64, 1024)
        q.requires_grad_()
        output, pattern = Full(scale=scale).build(8, 1024).watch(q, k, v)
        output[..., 0].sum().backward()
        effective = 1.0 if scale else 1024**-0.5
        gradients.append(q.grad.norm().item() / effective)  # with respect to the scores
        strongest.append(pattern.amax(-1).mean().item())
    assert strongest[0] > 0.9 > 0.2 > strongest[1]
    assert gradients[0] < gradients[1]


def stacked(x: torch.Tensor, layers: list[MultiHead]) -> torch.Tensor:
    for layer in layers:
        x = layer(x)
    return x


def test_stacked_attention_without_feed_forward_is_one_average_of_the_values():
    """However deep: the patterns multiply into one pattern, the projections into one matrix."""
    layers, x = [MultiHead(16, 1, bias=False).double() for _ in range(3)], torch.randn(2, 9, 16).double()
    pattern, matrix, states = torch.eye(9).double(), torch.eye(16).double(), x
    for layer in layers:
        with listen(layer) as heard:
            states = layer(states)
        pattern = heard["pattern"][:, 0] @ pattern
        matrix = matrix @ layer.value.weight.T @ layer.out.weight.T
    close(states, pattern @ x @ matrix, 1e-9)
    close(pattern.sum(-1), torch.ones(2, 9).double(), 1e-9)
    assert (pattern >= 0).all()


def test_only_the_feed_forward_bends():
    """With the patterns held, doubling the values doubles what a stack finds; with a feed-forward it does not."""
    q, k, v = lookup(9)
    attend, feed = Full().build(2, 8), torch.nn.GELU()
    once = attend(q, k, attend(q, k, v))
    close(attend(q, k, attend(q, k, 2 * v)), 2 * once)
    bent = attend(q, k, feed(attend(q, k, v)))
    assert not torch.allclose(attend(q, k, feed(attend(q, k, 2 * v))), 2 * bent, atol=1e-2)


def test_a_learned_position_beyond_its_table_names_both_lengths_and_a_sinusoid_goes_on():
    tokens = torch.randint(VOCAB, (1, 40))
    with pytest.raises(ConfigError, match=r"40.*\b32\b"):
        build(replace(BASES[GPT], position=Learned(length=32)))(tokens)
    assert build(replace(BASES[GPT], position=Sinusoid()))(tokens).isfinite().all()


def test_a_learned_position_runs_out_while_decoding_too():
    model = build(replace(BASES[GPT], position=Learned(length=5)))
    _, state = model.step(torch.zeros(1, 5, dtype=torch.long), model.init_state())
    with pytest.raises(ConfigError, match=r"6.*\b5\b"):
        model.step(torch.zeros(1, 1, dtype=torch.long), state)


def test_zero_init_with_a_tied_head_is_refused():
    """Large embeddings as the head: the first loss would be hundreds of nats."""
    with pytest.raises(ConfigError, match="tied"):
        GPT(vocab=9, init=ZeroInit())
    loss = F.cross_entropy(
        GPT(vocab=65, init=ZeroInit(), tied=False).build()(torch.arange(60)[None])[0], torch.arange(60)
    )
    assert loss.item() == pytest.approx(math.log(65), abs=0.1)


def test_a_state_without_capacity_grows():
    model = build(BASES[GPT])
    scores, state = model.step(torch.zeros(1, 3, dtype=torch.long), model.init_state(0))
    assert scores.shape[1] == state.length == 3


@pytest.mark.parametrize(
    ("change", "key"),
    [({"width": 10**9}, "width"), ({"heads": 10**9}, "heads"), ({"head_size": 10**9}, "head_size"),
     ({"feed": {"kind": "GELU", "hidden": 10**9}}, "feed.hidden"),
     ({"position": {"kind": "Learned", "length": 10**9}}, "position.length")],
)  # fmt: skip
def test_a_huge_size_is_refused_by_name(change, key):
    with pytest.raises(ConfigError, match=rf"^{key}: at most [\d,]+, not"):
        override(GPT(vocab=9), change)


def test_a_model_that_does_not_fit_is_refused_before_it_is_built():
    huge = GPT(vocab=9, width=2**17, layers=512, heads=2**10)
    with pytest.raises(ConfigError, match=r"model: its parameters need [\d,.]+ GiB, and [\d,.]+ GiB of memory"):
        build_model(huge)
    state = torch.get_rng_state()
    first = GPT(vocab=9, width=16, layers=1).build()
    torch.set_rng_state(state)
    close(first.embedding.table.weight, build_model(GPT(vocab=9, width=16, layers=1)).embedding.table.weight)
