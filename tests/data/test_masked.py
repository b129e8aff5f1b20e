"""Hidden words: how many, which, and that nothing but the seed and the step decides."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError, UserError
from regard.data.text.masked import MaskedBatch, MaskedWindows, Masking
from regard.text import Characters, Tokenizer

TOKENIZER = Characters().train(["abcdefghijklmnopqrstuvwxyz"])
SPECIAL = sorted(TOKENIZER.special)
WORDS = [token for token in range(TOKENIZER.vocab) if token not in SPECIAL]


def tokens(count: int, seed: int = 0, among: list[int] = WORDS) -> np.ndarray:
    return np.random.default_rng(seed).choice(np.array(among, dtype=np.uint16), count)


def windows(count: int = 4000, length: int = 42, batch: int = 8, **more: object) -> MaskedWindows:
    given = {"tokens": tokens(count), "fraction": 0.15, "seed": 3, **more}
    return MaskedWindows(length=length, tokenizer=TOKENIZER, batch=batch, **given)  # type: ignore[arg-type]


def original(batch: MaskedBatch) -> torch.Tensor:
    return batch.tokens.scatter(1, batch.chosen, batch.answer)


def test_five_tokens_are_special_and_the_mask_is_one_of_them():
    assert len(SPECIAL) == 5
    assert TOKENIZER.mask in SPECIAL
    assert len({TOKENIZER.pad, TOKENIZER.start, TOKENIZER.end, TOKENIZER.mask}) == 4


def test_of_the_chosen_words_80_10_10_are_masked_replaced_and_kept():
    sample = windows(40_000, batch=900).batch(0)
    put = sample.tokens.gather(1, sample.chosen)
    assert sample.chosen_valid.all()
    assert sample.chosen.shape == (900, 6), "15 % of 40"
    count = put.numel()
    masked = (put == TOKENIZER.mask).double().mean()
    kept = (put == sample.answer).double().mean()
    # A random word is the same word one time in 26. Bounds are four standard deviations wide.
    share = 0.1 + 0.1 / len(WORDS)
    assert abs(masked - 0.8) < 4 * (0.8 * 0.2 / count) ** 0.5
    assert abs(kept - share) < 4 * (share * (1 - share) / count) ** 0.5
    replaced = put[(put != TOKENIZER.mask) & (put != sample.answer)]
    assert set(replaced.tolist()) == set(WORDS), "any word, and never a special token"
    places = sample.chosen.flatten().bincount(minlength=42).double()
    assert places[0] == places[-1] == 0, "start and end are never hidden"
    expected = count / 40
    assert ((places[1:-1] - expected).abs() < 5 * expected**0.5).all(), "every other place as often"


@given(st.integers(0, 2**31), st.integers(1, 60), st.floats(0.01, 0.99))
def test_only_words_are_hidden_and_nothing_else_changes(seed: int, length: int, share: float):
    generator = torch.Generator().manual_seed(seed)
    given = torch.randint(TOKENIZER.vocab, (4, length), generator=generator)
    most = max(1, round(share * length))
    hidden, chosen, counted = Masking(TOKENIZER, share).draw(given, most, generator)
    is_word = torch.isin(given, torch.tensor(WORDS))
    for row in range(4):
        places = chosen[row][counted[row]]
        words = int(is_word[row].sum())
        assert len(set(chosen[row].tolist())) == most, "no place twice"
        assert is_word[row][places].all()
        assert len(places) <= words
        assert len(places) >= min(1, words)
        assert abs(len(places) - share * words) <= 1
        rest = torch.ones(length, dtype=torch.bool)
        rest[places] = False
        assert torch.equal(hidden[row][rest], given[row][rest])
        assert torch.isin(hidden[row][places], torch.tensor([*WORDS, TOKENIZER.mask])).all()


def test_windows_stand_between_start_and_end_and_hold_the_text():
    data = windows()
    batch = data.batch(5)
    assert batch.valid is None
    assert (batch.tokens[:, 0] == TOKENIZER.start).all()
    assert (batch.tokens[:, -1] == TOKENIZER.end).all()
    text = tokens(4000).tolist()
    for row in original(batch)[:, 1:-1].tolist():
        assert any(text[start : start + 40] == row for start in range(len(text)))


def test_a_step_can_be_asked_for_in_any_order_and_steps_differ():
    one, other = windows(), windows()
    later = [one.batch(step) for step in (7, 3)]
    assert torch.equal(later[1].tokens, other.batch(3).tokens)
    assert torch.equal(later[0].tokens, other.batch(7).tokens)
    epoch = one.steps_per_epoch
    assert not torch.equal(one.batch(0).tokens, windows(seed=4).batch(0).tokens)
    first = {tuple(row) for step in range(epoch) for row in one.batch(step).tokens.tolist()}
    second = {tuple(row) for step in range(epoch, 2 * epoch) for row in one.batch(step).tokens.tolist()}
    assert not first & second, "another epoch hides other words"


def test_a_measuring_pass_hides_the_same_words_whatever_the_batch():
    passes = [list(windows(983, batch=batch, seed=seed).once()) for batch, seed in ((8, 0), (3, 5))]
    for name in ("tokens", "chosen", "answer", "chosen_valid"):
        one, other = (torch.cat([getattr(batch, name) for batch in batches]) for batches in passes)
        assert torch.equal(one, other), name
    read = torch.cat([original(batch)[:, 1:] for batch in passes[0]]).flatten()
    assert read[torch.isin(read, torch.tensor(WORDS))].tolist() == tokens(983).tolist()[:-1], "each word once"


def test_the_last_window_is_padded_and_its_share_counted():
    *_, last = windows(40 * 3 + 21, batch=8).once()
    assert last.valid is not None
    assert last.valid.sum(1).tolist() == [42, 42, 42, 22]
    assert last.tokens[3, 21].item() == TOKENIZER.end
    assert (last.tokens[3, 22:] == TOKENIZER.pad).all()
    assert last.chosen_valid.sum(1).tolist() == [6, 6, 6, 3], "15 % of 20"
    assert last.size == 42 * 3 + 22


def test_special_tokens_in_the_text_are_never_told():
    text = tokens(2000, among=[*WORDS[:2], TOKENIZER.end, TOKENIZER.end, TOKENIZER.end])
    batch = windows(tokens=text, fraction=0.5).batch(0)
    assert torch.isin(batch.answer[batch.chosen_valid], torch.tensor(WORDS)).all()
    assert not batch.chosen_valid.all()


def test_parts_of_a_batch_hold_each_row_once():
    batch = windows().batch(0)
    parts = [batch.shard(number, 3) for number in range(3)]
    assert sum(part.size for part in parts) == batch.size
    assert sorted(torch.cat([part.chosen for part in parts]).tolist()) == sorted(batch.chosen.tolist())


def test_too_short_is_a_clear_error():
    with pytest.raises(ConfigError, match="length: must be at least 3"):
        windows(length=2)
    with pytest.raises(UserError, match="too short"):
        windows(count=1)


def test_a_tokenizer_without_a_mask_cannot_hide():
    from tokenizers import AddedToken, models
    from tokenizers import Tokenizer as Engine

    engine = Engine(models.WordLevel({"<pad>": 0, "<s>": 1, "</s>": 2, "a": 3}, unk_token="a"))
    engine.add_special_tokens([AddedToken(word, special=True) for word in ("<pad>", "<s>", "</s>")])
    with pytest.raises(UserError, match="no token '<mask>'"):
        MaskedWindows(np.array([3] * 50), 10, Tokenizer(engine), 0.15, 2)
