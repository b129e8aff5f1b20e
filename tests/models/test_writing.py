"""Models that write: no future leaks, and writing by steps from a cache is writing all at once."""

from dataclasses import replace

import pytest
import torch

import regard.models.gpt
import regard.models.transformer
from regard.models import GPT, RNN, Transformer
from regard.parts import Additive, Attention, Causal, Nearby
from regard.parts.taps import listen
from tests.helpers import close, every_small, name_of
from tests.models.leaks import check_no_future_leak
from tests.models.samples import BASES, Writer, every_variation, name_of_model, writes

LENGTH = 23
every_writer = pytest.mark.parametrize("config", every_variation(writes), ids=name_of_model)


@every_writer
def test_no_future_leaks(config):
    Writer(config, [9] * LENGTH).check_no_future_leak(LENGTH)


@every_writer
def test_writing_by_steps_is_writing_at_once_and_leaks_nothing(config):
    """One token, then one, then a few, then the rest: each answer is that of the full forward."""
    writer = Writer(config)
    tokens = writer.tokens(LENGTH)
    whole = writer(tokens)
    state, start = writer.begin(), 0
    for end in (1, 2, 3, 9, 10, LENGTH - 1, LENGTH):
        answers, state = writer.model.step(tokens[:, start:end], state)
        close(answers, whole[:, start:end], 2e-5)
        start = end


@every_writer
def test_a_selected_state_goes_on_with_the_selected_rows(config):
    """How beams fork and finished texts leave: rows are reordered, repeated and dropped."""
    writer, rows = Writer(config), torch.tensor([2, 0, 2, 2])
    tokens, more = writer.tokens(5), torch.randint(writer.vocab, (4, 3))
    _, state = writer.model.step(tokens, writer.begin())
    answers, state = writer.model.step(more[:, :1], state.select(rows))
    first = torch.tensor([3, 1])
    again, _ = writer.model.step(more[first, 1:], state.select(first))
    for name, value in writer.source.items():
        if isinstance(value, torch.Tensor):
            writer.source[name] = value[rows]
    if writer.source.get("source_positions") is not None:
        places = writer.source["source_positions"]
        writer.source["source_positions"] = replace(places, depth=places.depth[rows], distance=places.distance[rows])
    whole = writer(torch.cat([tokens[rows], more], 1))
    close(answers, whole[:, 5:6], 2e-5)
    close(again, whole[first, 6:], 2e-5)


@pytest.mark.parametrize("in_order", [True, False])
def test_many_sources_are_read_in_groups_and_answered_as_alone(in_order):
    """Groups are as wide as their longest text; one of them is empty."""
    torch.manual_seed(0)
    model = Transformer(vocab=30, width=16, layers=2, heads=2).build().eval()
    rows = 2 * regard.models.transformer.TOGETHER + 5
    lengths = torch.randint(0, 12, (rows,))
    lengths = lengths.sort().values if in_order else lengths
    source, valid = torch.randint(30, (rows, 12)), torch.arange(12) < lengths[:, None]
    target = torch.randint(30, (rows, 4))
    answers, _ = model.step(target, model.init_state(source, valid))
    close(answers, model(source, target, valid), 2e-5)
    with listen(model) as heard:
        model.init_state(source, valid)
    assert heard["encoder.0.attend.pattern"].shape == (rows, 2, 12, 12)


def can_leak(config) -> bool:
    """Whether the mask is all that hides the future; a window of one sees only itself anyway."""
    return config.hides_future and getattr(config, "reach", 2) > 1


class Open(Causal):
    """A decoder's mask, forgotten."""

    def at(self, query, key):
        return torch.ones_like(query <= key)[None]


class OffByOne(Causal):
    def at(self, query, key):
        return (key <= query + 1)[None]


@pytest.mark.parametrize("broken", [Open, OffByOne])
@pytest.mark.parametrize("attention", [c for c in every_small(Attention) if can_leak(c)], ids=name_of)
@pytest.mark.parametrize("kind", [GPT, Transformer])
def test_a_decoder_without_its_causal_mask_is_caught(kind, attention, broken, monkeypatch):
    module = {GPT: regard.models.gpt, Transformer: regard.models.transformer}[kind]
    writer = Writer(replace(BASES[kind], attention=attention), [9] * LENGTH)
    writer.check_no_future_leak(LENGTH)
    monkeypatch.setattr(module, "Causal", broken)
    with pytest.raises(AssertionError, match="the future of token"):
        writer.check_no_future_leak(LENGTH)


def test_a_model_that_reads_one_token_ahead_is_caught():
    class Ahead(Writer):
        def __call__(self, tokens):
            return super().__call__(tokens.roll(-1, 1))

    with pytest.raises(AssertionError, match="the future of token"):
        Ahead(BASES[RNN], [5] * 9).check_no_future_leak(9)


def test_a_leak_test_that_sees_nothing_move_says_so():
    with pytest.raises(AssertionError, match="nothing moves"):
        check_no_future_leak(lambda tokens: torch.zeros(*tokens.shape, 5), torch.arange(4), 5)


def test_a_mask_given_to_gpt_can_only_hide_more():
    writer = Writer(BASES[GPT])
    check_no_future_leak(lambda tokens: writer.model(tokens, Nearby(4)), torch.arange(9), writer.vocab)


def test_without_attention_only_the_encoders_last_state_is_known():
    """The bottleneck that attention was made for: the states in between reach the decoder only with it."""
    for attention, knows in ((None, False), (Additive(), True)):
        writer = Writer(replace(BASES[RNN], attention=attention))
        state = writer.begin()
        other = replace(writer.begin(), memory=torch.randn_like(state.memory))
        tokens = writer.tokens(4)
        same = torch.equal(writer.model.step(tokens, state)[0], writer.model.step(tokens, other)[0])
        assert same != knows
