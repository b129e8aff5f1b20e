"""What is recorded is what `listen` hears, and what the run answers by itself."""

import pytest
import torch

import regard
from regard.core.errors import UserError
from regard.data.text.labelled import encode_texts
from regard.decode import Sampling
from regard.parts.taps import listen
from regard.tasks import Run, attention_maps
from regard.tasks.lm.recording import CONTINUATION
from regard.tasks.recording import Recording, ViewInput
from regard.tasks.seq2seq.alignment import attention
from regard.text import MaskFilling
from regard.view.open_run import record
from tests.view.conftest import Runs

TEXT = "to be, or not"


def heard_by(run: Run, name: str, text: str, answer: str) -> dict[str, torch.Tensor]:
    """The patterns as somebody else would listen for them: one plain call of the model."""
    tokenizer = run.tokenizer
    assert tokenizer is not None
    if name in ("transformer", "rnn-attention", "rnn", "decoder-only"):
        return attention(run.model, tokenizer, text, answer)[0]
    encoded = {
        "fill": lambda: MaskFilling(tokenizer).encode([text]),
        "label": lambda: encode_texts([text], tokenizer, 16),
    }.get(name, lambda: tokenizer.encode([text]))()
    with torch.inference_mode(), listen(run.model) as heard:
        run.model(torch.tensor(encoded))
    return heard


@pytest.mark.parametrize(
    "name", ["transformer", "rnn-attention", "rnn", "decoder-only", "slots", "gpt", "short", "fill", "label"]
)
def test_patterns_are_those_that_listen_hears(runs: Runs, name: str) -> None:
    run = regard.load(runs[name])
    text = TEXT[:10] if name == "short" else TEXT
    recording = record(run, ViewInput(text))
    heard = heard_by(run, name, text, recording.answer)
    assert {f"{look.name}.pattern" for look in recording.maps} == set(heard)
    for look in recording.maps:
        pattern = heard[f"{look.name}.pattern"][0]
        assert look.pattern.shape == (len(pattern), len(look.queries), len(look.keys))
        torch.testing.assert_close(look.pattern, pattern, rtol=0, atol=1e-6)
        torch.testing.assert_close(look.pattern.sum(-1), torch.ones(look.pattern.shape[:2]), rtol=0, atol=1e-5)


def test_answers_are_those_of_the_run(runs: Runs) -> None:
    def answer(name: str, text: str) -> str:
        return record(regard.load(runs[name]), ViewInput(text)).answer

    assert answer("transformer", TEXT) == regard.load(runs["transformer"]).translate([TEXT])[0]
    assert answer("label", TEXT) == regard.load(runs["label"]).classify([TEXT])[0]
    assert answer("fill", "to [MASK] or") == regard.load(runs["fill"]).fill(["to [MASK] or"])[0]
    written = "".join(regard.load(runs["gpt"]).generate(TEXT, CONTINUATION, Sampling(temperature=0)))
    assert answer("gpt", TEXT) == written


def test_chances_are_probabilities_and_come_in_order(runs: Runs) -> None:
    labels = record(regard.load(runs["label"]), ViewInput(TEXT)).probabilities
    assert sum(probability for _, probability in labels) == pytest.approx(1, abs=1e-5)
    names, probabilities = regard.load(runs["label"]).label_probabilities([TEXT])
    assert dict(labels) == pytest.approx(dict(zip(names, probabilities[0].tolist(), strict=True)), abs=1e-5)
    for name in ("gpt", "label"):
        values = [probability for _, probability in record(regard.load(runs[name]), ViewInput(TEXT)).probabilities]
        assert values == sorted(values, reverse=True)


def test_a_target_that_is_given_is_the_one_that_is_drawn(runs: Runs) -> None:
    recording = record(regard.load(runs["transformer"]), ViewInput("abc", "xy z"))
    assert recording.answer == "xy z"
    across = next(look for look in recording.maps if look.part == "cross")
    assert across.queries == ("x", "y", "␣", "z", "⟨end⟩")
    assert across.keys == ("a", "b", "c", "⟨end⟩")
    own = recording.map("decoder.0.attend")
    assert own is not None
    assert own.keys == ("⟨start⟩", "x", "y", "␣", "z")


def test_attention_to_slots_is_labelled_as_such(runs: Runs) -> None:
    recording = record(regard.load(runs["slots"]), ViewInput(TEXT))
    assert recording.maps[0].keys == recording.maps[0].queries
    assert recording.maps[1].keys[0] == "slot 1"


def test_a_document_is_read_as_far_as_the_summariser_reads_it(runs: Runs) -> None:
    recording = record(regard.load(runs["summariser"]), ViewInput("a document of many letters"))
    assert recording.maps[0].queries == (*"a␣docume", "⟨end⟩")
    assert recording.notes == ("only the first 8 of 26 tokens are read",)
    assert recording.answer == regard.load(runs["summariser"]).summarise(["a document of many letters"])[0]


def test_a_model_without_attention_says_so(runs: Runs) -> None:
    recording = record(regard.load(runs["rnn"]), ViewInput(TEXT))
    assert not recording.maps
    assert "has no attention" in recording.notes[0]


def test_learned_places_end_where_they_end(runs: Runs) -> None:
    run = regard.load(runs["short"])
    assert len(record(run, ViewInput("a" * 12)).answer) <= 1
    with pytest.raises(UserError, match=r"13 tokens, and the model has 12 positions"):
        record(run, ViewInput("a" * 13))


def test_an_empty_text_is_no_error(runs: Runs) -> None:
    for name in ("transformer", "gpt", "label", "fill"):
        assert isinstance(record(regard.load(runs[name]), ViewInput("")), Recording)


def test_a_text_whose_patterns_fill_the_memory_is_refused_before_it_is_read(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_maps, "MAX_BYTES", 4 * 4 * 100**2)  # two layers of two heads over a hundred tokens
    run = regard.load(runs["gpt"])
    assert record(run, ViewInput("a" * 100)).bytes == 4 * 4 * 100**2
    with pytest.raises(UserError, match="101 tokens; patterns of at most 100 fit in memory"):
        record(run, ViewInput("a" * 101))


def test_a_run_without_a_task_is_named(runs: Runs) -> None:
    run = regard.load(runs["gpt"])
    with pytest.raises(UserError, match="holds a GPT without a task: only its training curves can be drawn"):
        record(Run(run.path, run.config, run.model), ViewInput("x"))


def test_a_run_without_a_tokenizer_is_named(runs: Runs) -> None:
    run = regard.load(runs["gpt"])
    with pytest.raises(UserError, match="no tokenizer"):
        record(Run(run.path, run.config, run.model, task=run.task), ViewInput("x"))
