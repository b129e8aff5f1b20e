"""The pointer: a mixture of generating and copying, against a computation word by word."""

import pytest
import torch

from regard.core.errors import ConfigError
from regard.models import Transformer
from regard.parts import Copy, Padding, listen
from regard.parts.copy import Pointer

VOCAB = 12


def example(beams: int = 1) -> tuple[Pointer, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    tensors = {
        "logits": torch.randn(2 * beams, 3, VOCAB),
        "states": torch.randn(2 * beams, 3, 8),
        "target": torch.tensor([[1, 4, 5], [1, 7, 9]]).repeat_interleave(beams, 0),
        "memory": torch.randn(2, 5, 8),
        "source": torch.tensor([[4, 5, 4, 6, 2], [7, 7, 2, 0, 0]]),
    }
    return Copy().build(8), tensors


@pytest.mark.parametrize("beams", [1, 3])
def test_a_word_is_generated_or_pointed_at(beams: int):
    pointer, given = example(beams)
    valid = torch.tensor([[True] * 5, [True, True, True, False, False]])
    with listen(pointer) as heard:
        mixed = pointer(**given, mask=Padding(valid))
    pattern = heard["pattern"]
    assert pattern.shape == (2 * beams, 1, 3, 5)
    gate, generated = pointer.gate(given["states"]).sigmoid(), given["logits"].softmax(-1)
    for row in range(2 * beams):
        for place in range(3):
            query = pointer.query(given["states"][row, place])
            keys = pointer.key(given["memory"][row // beams])
            source = given["source"][row // beams]
            follows = torch.tensor([False, *(source[:-1] == given["target"][row, place]).tolist()])
            scores = (keys @ query) * 8**-0.5 + pointer.bonus * follows
            weights = scores.masked_fill(~valid[row // beams], -torch.inf).softmax(0)
            torch.testing.assert_close(pattern[row, 0, place], weights)
            expected = (1 - gate[row, place]) * generated[row, place]
            for word, weight in zip(source.tolist(), weights, strict=True):
                expected[word] += gate[row, place, 0] * weight
            torch.testing.assert_close(mixed[row, place].exp(), expected, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(mixed.exp().sum(-1), torch.ones(2 * beams, 3))


def test_half_precision_gives_finite_probabilities_and_gradients():
    pointer, given = example()
    for name in ("logits", "states", "memory"):
        given[name] = given[name].requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = pointer(**given, mask=None)
    assert mixed.dtype == torch.float32
    mixed.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in pointer.parameters() if parameter.grad is not None)


def test_a_model_that_copies_learns_to_repeat_words_that_it_never_wrote():
    """Each source is one word and the target the same; half of the words occur in no target of training."""
    torch.manual_seed(0)
    model = Transformer(vocab=60, width=32, layers=1, heads=2, dropout=0.0, copy=Copy()).build()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-2)
    for _ in range(80):
        words = torch.randint(3, 30, (32, 1))
        start, end = torch.full_like(words, 1), torch.full_like(words, 2)
        logits = model(torch.cat([words, end], 1), start)
        loss = torch.nn.functional.cross_entropy(logits[:, 0], words[:, 0])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    unseen = torch.arange(30, 60)[:, None]
    logits = model.eval()(torch.cat([unseen, torch.full_like(unseen, 2)], 1), torch.ones_like(unseen))
    assert (logits[:, 0].argmax(-1) == unseen[:, 0]).float().mean() > 0.8


def test_a_model_that_was_never_trained_goes_on_copying():
    """After a word that occurs once in the source, the word that follows it there is the likeliest copy."""
    torch.manual_seed(0)
    model = Transformer(vocab=40, width=32, layers=1, heads=2, copy=Copy()).build().eval()
    source = torch.randperm(36)[None, :12] + 4
    with listen(model) as heard:
        model(source, torch.cat([torch.ones(1, 1, dtype=torch.long), source[:, :-1]], 1))
    assert (heard["pointer.pattern"][0, 0, 1:].argmax(-1) == torch.arange(1, 12)).all()


def test_two_vocabularies_have_nothing_to_copy():
    with pytest.raises(ConfigError, match="copy: source and target must share a vocabulary"):
        Transformer(vocab=10, target_vocab=5, copy=Copy())
    model = Transformer(vocab=10, width=8, heads=2, layers=1, copy=Copy()).build()
    with pytest.raises(ConfigError, match="needs the tokens of the source"):
        model.decode(torch.ones(1, 1, dtype=torch.long), torch.randn(1, 2, 8))
