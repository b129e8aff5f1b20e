"""Sampling: what may be chosen, how often, and that a seed decides."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError, UserError
from regard.decode import Beam, Sampling, greedy, write
from regard.models import GPT, Transformer

scores = st.lists(st.floats(-5, 5), min_size=2, max_size=12).map(lambda values: torch.tensor([values]))


def likeliest_first(probabilities: torch.Tensor) -> list[int]:
    return probabilities[0].argsort(descending=True, stable=True).tolist()


@given(scores, st.integers(1, 12))
def test_top_k_keeps_the_k_likeliest(row: torch.Tensor, k: int):
    kept = Sampling(top_k=k).probabilities(row)[0] > 0
    probabilities = row.softmax(-1)
    least = sorted(probabilities[0].tolist(), reverse=True)[min(k, row.shape[1]) - 1]
    assert kept.tolist() == (probabilities[0] >= least).tolist()


@given(scores, st.floats(0.05, 1.0))
def test_top_p_keeps_the_smallest_set_with_that_much_probability(row: torch.Tensor, p: float):
    probabilities, kept = row.softmax(-1), Sampling(top_p=p).probabilities(row)
    chosen = (kept[0] > 0).nonzero()[:, 0].tolist()
    mass = probabilities[0, chosen].sum().item()
    assert mass >= p - 1e-5
    assert mass - probabilities[0, chosen].min().item() < p + 1e-5, "without its least likely it would fall short"


@given(scores, st.floats(0.05, 1.0))
def test_min_p_keeps_what_is_likely_beside_the_likeliest(row: torch.Tensor, p: float):
    probabilities, kept = row.softmax(-1), Sampling(min_p=p).probabilities(row)
    assert ((kept > 0) == (probabilities >= p * probabilities.max())).all()


def test_draws_follow_the_probabilities():
    row = torch.tensor([[2.0, 1.0, 0.0, -1.0]])
    choose = Sampling(temperature=0.7, seed=1).chooser()
    drawn = choose(row.expand(20_000, -1), [[]] * 20_000)
    shares = torch.bincount(drawn, minlength=4) / 20_000
    assert torch.allclose(shares, (row[0] / 0.7).softmax(-1), atol=0.015)


def test_a_seed_decides_and_no_temperature_takes_the_likeliest():
    rows = torch.randn(50, 9)
    first, again = (Sampling(seed=5).chooser()(rows, [[]] * 50) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, Sampling(seed=6).chooser()(rows, [[]] * 50))
    for temperature in (0, 1e-40):
        assert torch.equal(Sampling(temperature=temperature).chooser()(rows, [[]] * 50), rows.argmax(-1))


def test_repetition_makes_what_was_written_less_likely():
    row = torch.tensor([[3.0, 2.9, -1.0]])
    assert Sampling(temperature=0, repetition_penalty=1.2).chooser()(row, [[0]]).item() == 1
    assert Sampling(temperature=0).chooser()(row, [[0]]).item() == 0


@pytest.mark.parametrize("bad", [{"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 0.0},
                                 {"top_p": 1.1}, {"min_p": -0.1}, {"repetition_penalty": 0.0}])  # fmt: skip
def test_settings_that_cannot_be_meant_are_named(bad: dict[str, float]):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        Sampling(**bad)


@pytest.mark.parametrize("damage", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_refused_by_every_search(damage: float):
    text, pairs = (
        GPT(vocab=9, width=8, layers=1, heads=1).build(),
        Transformer(vocab=9, width=8, layers=1, heads=1).build(),
    )
    for model in (text, pairs):
        model.eval()
        for weight in model.parameters():
            weight.data.fill_(damage)
    source, prompt = torch.tensor([[3, 4]]), torch.tensor([[3]])
    searches = [
        lambda: write(text, text.init_state(4), prompt, 2, 3),
        lambda: write(text, text.init_state(4), prompt, 2, 3, Sampling(seed=0).chooser()),
        lambda: greedy(pairs, pairs.init_state(source), 1, 1, 2, 3),
        lambda: Beam(width=2).search(pairs, pairs.init_state(source), 1, 1, 2, 3),
    ]
    for search in searches:
        with pytest.raises(UserError, match="the model's scores are not finite"):
            search()
