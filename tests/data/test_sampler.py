"""The order of examples, and the pairs that are made of them."""

import datetime

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError, UserError
from regard.data.sampler import Sampler
from regard.data.text.dates import LANGUAGES, Dates, write
from regard.data.text.pairs import Pairs, pad
from regard.text import Characters

sizes = st.lists(st.integers(1, 30), min_size=1, max_size=200)


@given(sizes, st.integers(1, 40), st.integers(0, 3))
def test_an_epoch_shows_no_row_twice_and_leaves_out_less_than_a_batch(sizes: list[int], batch: int, epoch: int):
    order = Sampler(sizes, batch, seed=1)
    steps = range(epoch * order.steps_per_epoch, (epoch + 1) * order.steps_per_epoch)
    rows = [row for step in steps for row in order.rows(step)]
    assert len(set(rows)) == len(rows)
    assert 0 <= len(sizes) - len(rows) < min(batch, len(sizes))


@given(sizes, st.integers(1, 40), st.integers(0, 500))
def test_any_step_can_be_asked_for_in_any_order(sizes: list[int], batch: int, step: int):
    assert Sampler(sizes, batch, seed=2).rows(step) == Sampler(sizes, batch, seed=2).rows(step)


def test_epochs_and_seeds_differ():
    order = Sampler([1] * 100, 10, seed=0)
    assert order.rows(0) != order.rows(10)
    assert order.rows(0) != Sampler([1] * 100, 10, seed=1).rows(0)


def test_rows_of_similar_size_share_a_batch():
    dice = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 100, (5000,), generator=dice).tolist()
    order = Sampler(sizes, 20, seed=0)
    spread = [max(sizes[r] for r in rows) - min(sizes[r] for r in rows) for rows in map(order.rows, range(200))]
    assert sum(spread) / len(spread) < 10, "at random it would be about 90"


def test_an_epoch_of_a_long_corpus_takes_a_few_bytes_a_row():
    order = Sampler(torch.ones(1_000_000, dtype=torch.int8), 32, seed=0)
    assert order._shuffled(0).nbytes + order.lengths.nbytes <= 5 * 1_000_000
    assert sorted(row for step in range(order.steps_per_epoch) for row in order.rows(step)) == list(range(1_000_000))


def test_no_rows_is_a_clear_error():
    with pytest.raises(UserError, match="has no rows"):
        Sampler([], 10, seed=0)


def test_parts_of_a_batch_hold_each_row_once():
    tokenizer = Characters().train(["abc"])
    sources, targets = tokenizer.encode(["a", "ab", "abc", "", "cab"]), tokenizer.encode(["c", "", "b", "a", "bb"])
    rows = list(zip(sources, targets, strict=True))
    batch = Pairs(rows, tokenizer, batch=5).batch(0)
    parts = [batch.shard(number, 3) for number in range(3)]
    assert sum(part.size for part in parts) == batch.size
    assert sorted(torch.cat([part.source for part in parts]).tolist()) == sorted(batch.source.tolist())


def test_the_answer_is_the_target_moved_by_one():
    tokenizer = Characters().train(["abc"])
    [source], [target] = tokenizer.encode(["ab"]), tokenizer.encode(["ca"])
    batch = Pairs([(source, target)], tokenizer, batch=1).batch(0)
    assert batch.target[0].tolist() == [tokenizer.start, *target]
    assert batch.answer[0].tolist() == [*target, tokenizer.end]
    assert batch.source[0].tolist() == [*source, tokenizer.end]


def test_padding_marks_what_is_real():
    filled, valid = pad([[5], [6, 7, 8]], padding=0)
    assert filled.tolist() == [[5, 0, 0], [6, 7, 8]]
    assert valid.tolist() == [[True, False, False], [True, True, True]]


def test_held_out_days_are_never_seen_in_training_in_any_language():
    pairs = Dates(train=3000, valid=300, test=300).pairs()
    days = {name: {iso for _, iso in rows} for name, rows in pairs.items()}
    assert not days["train"] & days["valid"]
    assert not days["train"] & days["test"]
    assert not days["valid"] & days["test"]


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_every_form_names_the_day_the_month_and_the_year(day: datetime.date):
    for language in LANGUAGES.values():
        for form in language.forms:
            text = write(day, language, form)
            assert str(day.year) in text
            assert str(day.day) in text
            assert language.months[day.month - 1] in text or f".{day.month:02d}." in text


def test_settings_of_dates_are_checked():
    with pytest.raises(ConfigError, match="not a range of years"):
        Dates(first_year=2000, last_year=1999)
    with pytest.raises(ConfigError, match="train: must be at least 1"):
        Dates(train=0)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_characters_round_trip_whatever_they_were_trained_on(texts: list[str]):
    tokenizer = Characters().train(texts)
    specials = ("<pad>", "<s>", "</s>", "<unk>")
    if not any(special in text for text in texts for special in specials):
        assert tokenizer.decode(tokenizer.encode(texts)) == texts
