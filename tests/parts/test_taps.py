"""Listening: the names, the patterns, and that nothing else changes."""

import pytest
import torch

from regard.models import BERT, GPT, NPT, RNN, Transformer, ViT
from regard.parts import Additive, listen
from regard.parts.taps import taps

SIZES = {"width": 16, "layers": 2, "heads": 2}
NAMES = {
    GPT(vocab=9, **SIZES): {"decoder.0.attend.pattern", "decoder.1.attend.pattern"},
    BERT(vocab=9, **SIZES): {"encoder.0.attend.pattern", "encoder.1.attend.pattern"},
    ViT(labels=3, **SIZES): {"encoder.0.attend.pattern", "encoder.1.attend.pattern"},
    NPT(categories=(0, 3), **SIZES): {f"{way}.{i}.attend.pattern" for way in ("rows", "columns") for i in (0, 1)},
    RNN(vocab=9, width=16, attention=Additive()): {"decoder.cross.pattern"},
    RNN(vocab=9, width=16): set(),
    Transformer(vocab=9, **SIZES | {"layers": 1}, decoder_layers=4): {
        "encoder.0.attend.pattern",
        *(f"decoder.{layer}.{part}.pattern" for layer in range(4) for part in ("attend", "cross")),
    },
}


@pytest.mark.parametrize("config", NAMES, ids=lambda config: type(config).__name__)
def test_every_pattern_has_its_documented_name(config):
    assert set(taps(config.build())) == NAMES[config]


@pytest.fixture
def model():
    return Transformer(vocab=9, **SIZES).build().eval()


SOURCE, TARGET = torch.randint(9, (2, 7)), torch.randint(9, (2, 5))


def test_the_whole_of_what_is_heard_step_by_step_is_what_is_heard_at_once(model):
    with listen(model) as at_once:
        model(SOURCE, TARGET)
    with listen(model) as by_steps:
        state = model.init_state(SOURCE)
        for token in TARGET.split(1, 1):
            _, state = model.step(token, state)
    for name in at_once:
        assert by_steps.whole(name).shape == at_once[name].shape
        torch.testing.assert_close(by_steps.whole(name), at_once[name], atol=1e-6, rtol=0)


def test_a_pattern_is_batch_heads_target_source(model):
    with listen(model) as heard:
        model(SOURCE, TARGET)
    assert heard["decoder.1.cross.pattern"].shape == (2, 2, 5, 7)
    assert heard["decoder.1.attend.pattern"].shape == (2, 2, 5, 5)
    assert heard["encoder.0.attend.pattern"].shape == (2, 2, 7, 7)


def test_nested_listeners_all_hear_and_leave_one_by_one(model):
    with listen(model) as outer:
        with listen(model) as inner, listen(model.decoder) as part:
            model(SOURCE, TARGET)
        model(SOURCE, TARGET)
    assert set(outer) == set(inner)
    assert torch.equal(inner["decoder.0.cross.pattern"], part["0.cross.pattern"])
    assert {len(values) for values in outer.every.values()} == {2}
    assert {len(values) for values in inner.every.values()} == {1}
    assert not any(tap.watched for tap in taps(model).values())


def test_nobody_listens_after_an_exception(model):
    with pytest.raises(IndexError), listen(model):
        model(SOURCE + 9, TARGET)  # words that are not in the vocabulary
    assert not any(tap.watched for tap in taps(model).values())


def test_nothing_is_heard_once_the_block_has_ended(model):
    with listen(model) as heard:
        pass
    model(SOURCE, TARGET)
    assert not heard


def test_unwatched_no_pattern_is_built(model, monkeypatch):
    def refuse(*_):
        raise AssertionError("a pattern was built for nobody")

    for block in [*model.encoder.blocks, *model.decoder.blocks]:
        monkeypatch.setattr(block.attend.attend, "watch", refuse)
    model(SOURCE, TARGET)


def test_decoding_is_heard_step_by_step(model):
    with listen(model) as heard:
        state = model.init_state(SOURCE)
        for token in range(3):
            _, state = model.step(TARGET[:, token : token + 1], state)
    assert [pattern.shape[-1] for pattern in heard.every["decoder.0.attend.pattern"]] == [1, 2, 3]


def test_listening_keeps_gradients_and_heard_patterns_hold_none(model):
    with listen(model) as heard:
        model(SOURCE, TARGET).sum().backward()
    assert not any(pattern.requires_grad for pattern in heard.values())
    assert model.decoder.blocks[0].cross.query.weight.grad.any()


def test_taps_are_no_weights(model):
    before = set(model.state_dict())
    with listen(model):
        assert set(model.state_dict()) == before
