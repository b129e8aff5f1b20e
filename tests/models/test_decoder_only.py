"""Source and target as one text: what it writes, padded or not, by steps or at once, and what it costs."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from regard.decode import Beam, greedy
from regard.models import DecoderOnly
from regard.parts import (
    ALiBi,
    BigBird,
    BigramEmbedding,
    Compressed,
    Full,
    Learned,
    Rotary,
    Shaw,
    Softcap,
    T5Bias,
    Window,
)
from tests.helpers import close, valid_of

START, END, VOCAB = 1, 2, 12
BASE = DecoderOnly(vocab=VOCAB, width=16, layers=2, heads=2)
PAPER = replace(BASE, attention=Window(reach=4), alternate=Compressed())
MODELS = {
    "full": BASE,
    "window and compressed": PAPER,
    "compressed": replace(BASE, attention=Compressed(stride=4), layers=3),
    "bigbird": replace(BASE, attention=BigBird(block=2, random=1), position=T5Bias(count=8, far=20)),
    "relative": replace(BASE, attention=Window(reach=5), position=Shaw(reach=3)),
    "alibi": replace(BASE, position=ALiBi()),
    "bigram": replace(
        BASE, position=Learned(length=64), bigram=BigramEmbedding(), tied=False, logit_softcap=Softcap(3.0)
    ),
}
every_kind = pytest.mark.parametrize("config", MODELS.values(), ids=MODELS.keys())
LENGTHS = [9, 1, 4, 9, 7, 3]


def build(config: DecoderOnly) -> torch.nn.Module:
    """A model whose parameters are all random: a table that begins at nothing would hide a mistake."""
    model = config.build().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


@every_kind
def test_the_scores_are_those_of_a_gpt_on_the_joined_text(config):
    model = build(config)
    source, target, valid = torch.randint(VOCAB, (6, 9)), torch.randint(VOCAB, (6, 5)), valid_of(LENGTHS)
    answers = model(source, target, valid)
    for row, length in enumerate(LENGTHS):
        joined = torch.cat([source[row, :length], target[row]])[None]
        close(answers[row : row + 1], model.writer(joined)[:, length:])


@every_kind
def test_what_stands_in_the_padding_is_never_read(config):
    model = build(config)
    source, target, valid = torch.randint(VOCAB, (6, 9)), torch.randint(VOCAB, (6, 5)), valid_of(LENGTHS, 9)
    other = torch.where(valid, source, (source + 1) % VOCAB)
    close(model(source, target, valid), model(other, target, valid), 1e-6)
    more = torch.cat([source, torch.randint(VOCAB, (6, 11))], 1)
    close(model(source, target, valid), model(more, target, valid_of(LENGTHS, 20)))


@every_kind
def test_steps_from_a_state_of_unequal_sources_are_the_full_pass(config):
    """Several tokens and single ones, with rows that leave and fork in between."""
    model = build(config)
    source, target, valid = torch.randint(VOCAB, (6, 9)), torch.randint(VOCAB, (6, 12)), valid_of(LENGTHS)
    whole, state = model(source, target, valid), model.init_state(source, valid)
    answers, state = model.step(target[:, :4], state)
    close(answers, whole[:, :4])
    rows = torch.tensor([5, 0, 0, 3, 1])  # two are gone, one is there twice, and one length with them
    target[rows[2], 4:] = target[rows[1], 4:]
    state = state.select(rows)
    for place in range(4, 12):
        answers, state = model.step(target[rows, place : place + 1], state)
        close(answers, whole[rows, place : place + 1])


@every_kind
def test_greedy_writing_equals_recomputing_everything_for_each_token(config):
    model = build(config)
    source, valid = torch.randint(3, VOCAB, (6, 9)), valid_of(LENGTHS)
    with torch.no_grad():
        model.writer.embedding.table.weight[END] *= 1.5  # so that some rows end early
        written = greedy(model, model.init_state(source, valid), 6, START, END, max_tokens=8)
        for row in range(6):
            alone, expected = source[row : row + 1, valid[row]], [START]
            while len(expected) <= 8:
                token = model(alone, torch.tensor([expected]))[0, -1].argmax().item()
                if token == END:
                    break
                expected.append(token)
            assert written[row] == expected[1:]


@every_kind
def test_a_beam_finds_the_same_in_a_batch_as_alone(config):
    model = build(config)
    source, valid = torch.randint(3, VOCAB, (6, 9)), valid_of(LENGTHS)
    together = Beam(width=3).search(model, model.init_state(source, valid), 6, START, END, 6)
    for row, length in enumerate(LENGTHS):
        alone = source[row : row + 1, :length]
        [hypotheses] = Beam(width=3).search(model, model.init_state(alone), 1, START, END, 6)
        assert [text.tokens for text in together[row]] == [text.tokens for text in hypotheses]
        assert [text.score for text in together[row]] == pytest.approx([text.score for text in hypotheses], abs=1e-4)


def test_the_source_is_not_scored():
    """Only target places meet the vocabulary: for a long source the rest would be most of the work."""
    model, scored = build(BASE), []
    model.writer.embedding.logits = lambda states: (
        scored.append(states.shape[1]) or torch.zeros(*states.shape[:2], VOCAB)
    )
    model(torch.randint(VOCAB, (2, 50)), torch.randint(VOCAB, (2, 3)))
    model.step(torch.randint(VOCAB, (2, 1)), model.init_state(torch.randint(VOCAB, (2, 50))))
    assert scored == [3, 1]


MEASURE = """
import sys, torch
from pathlib import Path
from regard.models import DecoderOnly
from regard.parts import *

def learn(length):
    model(torch.randint(50, (1, length)), torch.randint(50, (1, 10))).sum().backward()

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

torch.set_num_threads(1)
attention, alternate, position = map(eval, sys.argv[2:])
sizes = {"width": 32, "layers": 2, "heads": 2}
model = DecoderOnly(vocab=50, attention=attention, alternate=alternate, position=position, **sizes).build()
learn(128)
Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
before = peak()
learn(int(sys.argv[1]))
print(peak() - before)
"""


def grown(length: int, attention: object, alternate: object, position: object = Rotary()) -> int:
    """Kilobytes that reading one document and learning from it take at their peak."""
    words = [sys.executable, "-c", MEASURE, str(length), *map(repr, (attention, alternate, position))]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def test_memory_grows_with_the_length_of_a_document_and_not_with_its_square():
    short, long = (grown(length, Window(reach=64), Compressed()) for length in (2048, 8192))
    assert long < 5.5 * short
    assert grown(2048, Full(), None, ALiBi()) > 4 * short  # a bias is written out for each pair of places
