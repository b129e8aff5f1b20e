"""Greedy decoding with a cache, in batches that shrink, against the slow and obvious way."""

import pytest
import torch

from regard.decode import greedy
from regard.models import RNN, Transformer
from regard.parts import Additive, BigBird, Compressed, Experts, Rotary, Shaw, T5Bias, Window
from regard.tasks.seq2seq.alignment import attention
from regard.tasks.seq2seq.writing import write_targets
from regard.text import Characters

MODELS = [
    Transformer(vocab=12, width=16, layers=2, heads=2),
    Transformer(vocab=12, width=16, layers=1, heads=2, position=Rotary(), attention=Window(reach=3)),
    Transformer(vocab=12, width=16, layers=1, heads=2, position=T5Bias(), attention=BigBird(block=2)),
    Transformer(vocab=12, width=16, layers=1, heads=2, position=Shaw(), feed=Experts(count=3)),
    Transformer(vocab=12, width=16, layers=1, heads=2, attention=Compressed()),
    RNN(vocab=12, width=16),
    RNN(vocab=12, width=16, attention=Additive(), layers=2),
]
START, END = 1, 2


@pytest.mark.parametrize("config", MODELS, ids=lambda c: f"{type(c).__name__}-{type(c.attention).__name__}")
def test_equals_recomputing_everything_for_each_token(config):  # type: ignore[no-untyped-def]
    model = config.build().eval()
    source, valid = torch.randint(3, 12, (6, 9)), torch.arange(9) < torch.tensor([[9], [1], [4], [9], [7], [3]])
    with torch.no_grad():
        model.embedding.table.weight[END] *= 1.5  # so that some rows end early
        written = greedy(model, model.init_state(source, valid), 6, START, END, max_tokens=12)
        for row in range(6):
            alone, expected = source[row : row + 1, valid[row]], [START]
            while len(expected) <= 12:
                token = model(alone, torch.tensor([expected]))[0, -1].argmax().item()
                if token == END:
                    break
                expected.append(token)
            assert written[row] == expected[1:]


def test_translate_keeps_the_order_of_its_lines(monkeypatch):
    tokenizer = Characters().train(["abcdef"])
    model = Transformer(vocab=tokenizer.vocab, width=16, layers=1, heads=2).build().eval()
    texts = ["abc", "f", "", "fedcba", "aa"]
    monkeypatch.setattr("regard.tasks.seq2seq.writing.ROWS", 2)
    together = write_targets(model, tokenizer, texts, max_tokens=8)
    assert together == [write_targets(model, tokenizer, [text], max_tokens=8)[0] for text in texts]


def test_attention_comes_with_the_tokens_of_its_axes():
    tokenizer = Characters().train(["abcdef"])
    model = Transformer(vocab=tokenizer.vocab, width=16, layers=2, heads=2).build()
    heard, source, target = attention(model, tokenizer, "abc", "fe")
    assert heard["decoder.1.cross.pattern"].shape == (1, 2, len(target), len(source))
    assert (source, target) == (["a", "b", "c", "·"], ["f", "e", "·"])
