"""Texts of different lengths written in one batch: each is answered as if it were alone."""

from dataclasses import replace

import pytest
import torch

from regard.models import GPT, RNNLM
from regard.parts import BigBird, BigramEmbedding, Compressed, DynamicScaling, Full, Rotary
from tests.helpers import close
from tests.models.samples import BASES, every_variation, name_of_model

every_text_model = pytest.mark.parametrize(
    "config", every_variation(lambda kind: kind in (GPT, RNNLM)), ids=name_of_model
)


class Text:
    """A text that is stepped in a batch, and what it would be answered alone."""

    def __init__(self, model, length: int):
        self.tokens = torch.randint(model.config.vocab, (1, length))
        self.alone = model(self.tokens)
        self.read = 0

    def take(self, count: int) -> torch.Tensor:
        self.read += count
        return self.tokens[:, self.read - count : self.read]

    def check(self, scores: torch.Tensor) -> None:
        close(scores, self.alone[0, self.read - 1], 2e-5)


@every_text_model
@torch.inference_mode()
def test_texts_join_and_leave_at_any_step_and_are_answered_as_alone(config):
    torch.manual_seed(0)
    model = config.build().eval()
    if not model.joins_texts:
        pytest.skip("its attention looks at places, not at distances")
    state, running = model.init_state(capacity=2), []
    arrivals = {0: 3, 1: 1, 2: 9, 4: 5, 9: 14, 12: 1}  # step: tokens of a prompt, some longer than all that run
    leaving = {3: 1, 7: 0, 8: 0, 11: 1}  # the long text leaves, so that memory moves back too
    for step in range(20):
        if (length := arrivals.get(step)) is not None:
            new, own = Text(model, length + 20), model.init_state(capacity=1)
            for piece in (length // 2, length - length // 2):  # a prompt is read in pieces
                if piece:
                    _, own = model.step(new.take(piece), own)
            state, running = state.join(own), [*running, new]
        if (place := leaving.get(step)) is not None:
            stay = [row for row in range(len(running)) if row != place]
            state, running = state.select(torch.tensor(stay)), [running[row] for row in stay]
        if running:
            scores, state = model.step(torch.cat([text.take(1) for text in running]), state)
            for text, row in zip(running, scores[:, -1], strict=True):
                text.check(row)


@torch.inference_mode()
def test_what_no_text_holds_any_more_is_given_back():
    model = GPT(vocab=11, width=16, layers=1, heads=2, bigram=BigramEmbedding(), attention=Full()).build().eval()
    long, short = Text(model, 60), Text(model, 60)
    _, one = model.step(long.take(50), model.init_state())
    _, other = model.step(short.take(4), model.init_state())
    state = one.join(other)
    assert (state.length, state.starts.tolist()) == (50, [0, 46])
    state = state.select(torch.tensor([1]))
    assert (state.length, state.starts) == (4, None)
    scores, _ = model.step(short.take(1), state)
    short.check(scores[0, -1])


def test_rows_that_begin_at_places_of_their_own_are_not_joined():
    base = BASES[GPT]
    for attention in (BigBird(block=4), Compressed()):
        assert not replace(base, attention=attention).build().joins_texts
    assert base.build().joins_texts
    stretched = Rotary(scaling=DynamicScaling(factor=2.0, length=8))  # by the longest text of a batch
    assert not replace(base, position=stretched).build().joins_texts
