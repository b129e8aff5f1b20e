"""The engine writes what one-at-a-time decoding writes, whatever else is in the batch."""

import pytest
import torch

from regard.decode import Sampling
from regard.models import GPT, RNNLM
from regard.parts import BigBird, BigramEmbedding, Learned
from regard.serve.engine import Engine
from regard.serve.limits import Limits
from regard.serve.messages import Done, Failed, Generate, Load, Piece, Writing
from regard.tasks.lm.generate import generate
from regard.text import Characters

LETTERS = "abcdefghijklmnopqrstuvwxyz .,"
TOKENIZER = Characters().train([LETTERS])
SMALL = {"vocab": TOKENIZER.vocab, "width": 16, "layers": 2}
MODELS = {
    "gpt": GPT(**SMALL, heads=2, bigram=BigramEmbedding()),
    "blocks": GPT(**SMALL, heads=2, attention=BigBird(block=4)),
    "rnn": RNNLM(**SMALL),
}
PROMPTS = ["a", "the cat sat on the mat, and the dog sat on the cat", "zz top", "", "hello there, hello", "b"]


def build(config):
    torch.manual_seed(1)
    model = config.build().eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    return model


def job(number: int, prompt, *, n: int = 1, client: str = "me", **writing) -> Generate:
    prompts = (prompt,) if not isinstance(prompt, list) else tuple(prompt)
    how = Writing(**{"max_tokens": 12, "temperature": 0.0, **writing})
    return Generate(id=number, client=client, writing=how, prompts=prompts, n=n)


def run(engine: Engine, *jobs: Generate, arrivals: dict[int, Generate] | None = None) -> list:
    """Everything that happens until all is done; later requests arrive at the steps given."""
    for one in jobs:
        engine.submit(one)
    events, later = [], dict(arrivals or {})
    for step in range(1000):
        if step in later:
            engine.submit(later.pop(step))
        if not engine.busy and not later:
            return [event for event in events if not isinstance(event, Load)]
        events += engine.tick()
    raise AssertionError("the engine never ends")


def texts(events: list, request: int) -> dict[int, str]:
    joined: dict[int, str] = {}
    for piece in (one for one in events if isinstance(one, Piece) and one.id == request):
        joined[piece.index] = joined.get(piece.index, "") + piece.text
    return joined


def alone(model, prompt: str, count: int = 12, stop: tuple[str, ...] = ()) -> str:
    return "".join(generate(model, TOKENIZER, prompt, count, Sampling(temperature=0.0), stop))


@pytest.mark.parametrize("name", MODELS)
def test_requests_that_join_and_leave_are_answered_as_alone(name):
    model = build(MODELS[name])
    engine = Engine(model, TOKENIZER, Limits(rows=3, chunk=7))
    arrivals = {step: job(step, prompt, max_tokens=4 + 3 * step) for step, prompt in enumerate(PROMPTS)}
    events = run(engine, arrivals=arrivals)
    for step, prompt in enumerate(PROMPTS):
        assert texts(events, step) == {0: alone(model, prompt, 4 + 3 * step)}
        [done] = [event for event in events if isinstance(event, Done) and event.id == step]
        assert done.prompt_tokens == len(TOKENIZER.prompt(prompt))
    assert not engine.batch.texts
    assert not engine._requests
    assert not engine._states


def test_a_prompt_that_begins_like_an_earlier_one_is_read_from_there():
    model = build(MODELS["gpt"])
    read = []
    step = model.step
    model.step = lambda tokens, state: (read.append(tokens.shape[1]), step(tokens, state))[1]
    engine = Engine(model, TOKENIZER, Limits())
    long = PROMPTS[1]
    first = run(engine, job(1, long, max_tokens=2))
    assert sum(read) == len(long) + 1
    read.clear()
    second = run(engine, job(2, long + " again", n=2, max_tokens=2))
    assert read == [len(" again"), 1, 1]  # the second choice reads the last token only; then one step of both
    assert next(event for event in second if isinstance(event, Done)).cached_tokens == len(long) + len(long + " agai")
    read.clear()
    run(engine, job(3, long, client="another", max_tokens=1))
    assert sum(read) == len(long)
    model.step = step
    assert texts(second, 2) == {0: alone(model, long + " again", 2), 1: alone(model, long + " again", 2)}
    assert texts(first, 1) == {0: alone(model, long, 2)}


def test_scores_of_prompt_and_continuation_are_those_of_the_model():
    model = build(MODELS["gpt"])
    prompt = PROMPTS[1]
    engine = Engine(model, TOKENIZER, Limits(chunk=5))
    events = run(engine, job(1, prompt, max_tokens=3, logprobs=2, echo=True))
    pieces = [event for event in events if isinstance(event, Piece)]
    assert "".join(piece.text for piece in pieces) == prompt + alone(model, prompt, 3)
    scores = [score for piece in pieces for score in piece.scores]
    [tokens] = TOKENIZER.encode([prompt + alone(model, prompt, 3)])
    with torch.inference_mode():
        expected = model(torch.tensor([tokens])).log_softmax(-1)[0]
    assert len(scores) == len(tokens)
    assert scores[0].logprob is None
    for place, score in enumerate(scores[1:], 1):
        assert score.logprob == pytest.approx(float(expected[place - 1, tokens[place]]), abs=1e-4)
        assert score.token == TOKENIZER.decode([[tokens[place]]])[0]
        assert [value for _, value in score.top] == pytest.approx(expected[place - 1].topk(2).values.tolist(), abs=1e-4)


def test_stop_seed_bias_and_penalties():
    model = build(MODELS["gpt"])
    engine = Engine(model, TOKENIZER, Limits())
    whole = alone(model, "the", 30)
    stop = whole[7:9]
    events = run(engine, job(1, "the", max_tokens=30, stop=(stop,)))
    assert texts(events, 1) == {0: whole[: whole.index(stop)]}
    assert [event.finish for event in events if isinstance(event, Piece)][-1] == "stop"
    same = [texts(run(engine, job(2, "the", temperature=1.0, seed=5, n=2)), 2) for _ in range(2)]
    assert same[0] == same[1]
    assert same[0][0] != same[0][1]
    [token] = TOKENIZER.encode(["q"])[0]
    assert texts(run(engine, job(3, "the", max_tokens=5, logit_bias={token: 100.0})), 3) == {0: "qqqqq"}
    bias = {token: 100.0}
    varied = texts(
        run(engine, job(4, "the", max_tokens=4, logit_bias=bias, presence_penalty=2.0, frequency_penalty=99)), 4
    )
    assert varied[0].startswith("q")
    assert varied[0] != "qqqq"
    assert texts(run(engine, job(5, "the", max_tokens=0, echo=True)), 5) == {0: "the"}


def test_a_poisoned_request_fails_alone():
    model = build(MODELS["gpt"])
    [poison] = TOKENIZER.encode(["x"])[0]
    step = model.step

    def breaks(tokens, state):
        if (tokens == poison).any():
            raise RuntimeError("poison")
        return step(tokens, state)

    model.step = breaks
    engine = Engine(model, TOKENIZER, Limits())
    writes_poison = job(2, "b", max_tokens=9, logit_bias={poison: 100.0})
    events = run(engine, job(1, "the", max_tokens=9), job(3, "ax"), writes_poison, job(4, ["b", "c"], max_tokens=9))
    assert {event.id: event.status for event in events if isinstance(event, Failed)} == {2: 500, 3: 500}
    model.step = step
    assert texts(events, 1) == {0: alone(model, "the", 9)}
    assert texts(events, 4) == {0: alone(model, "b", 9), 1: alone(model, "c", 9)}
    assert not engine.batch.texts


def test_a_cancelled_request_frees_its_place():
    engine = Engine(build(MODELS["gpt"]), TOKENIZER, Limits(rows=2))
    for number in range(100):
        engine.submit(job(number, "hello", max_tokens=1000, n=2))
        engine.tick()
        engine.cancel(number)
    assert not engine.scheduler.busy
    assert not engine.batch.texts
    assert not engine._states


def test_others_go_on_when_one_of_a_batch_is_cancelled():
    model = build(MODELS["gpt"])
    engine = Engine(model, TOKENIZER, Limits())
    for number, prompt in enumerate(("the cat", "hello", "b")):
        engine.submit(job(number, prompt, max_tokens=9))
    events = [*engine.tick(), *engine.tick()]
    engine.cancel(0)
    events += run(engine)
    assert texts(events, 1) == {0: alone(model, "hello", 9)}
    assert texts(events, 2) == {0: alone(model, "b", 9)}
    assert len(texts(events, 0)[0]) < 4


def test_a_prompt_that_does_not_fit_is_refused_with_both_numbers():
    model = build(GPT(**SMALL, heads=2, position=Learned(12)))
    engine = Engine(model, TOKENIZER, Limits())
    [failed] = run(engine, job(1, "x" * 13))
    assert failed.status == 400
    assert "12" in failed.message
    assert "13" in failed.message
    [failed] = run(engine, job(2, "x" * 10, max_tokens=4))
    assert failed.status == 400
    events = run(engine, job(3, "hello wor", max_tokens=None))
    assert texts(events, 3) == {0: alone(model, "hello wor", 4)}
