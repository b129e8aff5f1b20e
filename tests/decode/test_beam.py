"""Beam search against brute force, and against the search that others wrote."""

import itertools
from pathlib import Path

import pytest
import torch

from regard.decode import Beam, greedy
from regard.interop import load
from regard.models import RNN, Transformer
from regard.parts import Additive

START, END = 1, 2


def log_probability(model, source, tokens: tuple[int, ...]) -> float:  # type: ignore[no-untyped-def]
    log_probabilities = model(source, torch.tensor([[START, *tokens[:-1]]]))[0].log_softmax(-1)
    return sum(log_probabilities[place, token].item() for place, token in enumerate(tokens))


@pytest.mark.parametrize(
    "config", [Transformer(vocab=5, width=16, layers=1, heads=2), RNN(vocab=5, width=16, attention=Additive())]
)
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_beam_as_wide_as_everything_finds_the_best_text_there_is(config, power: float):  # type: ignore[no-untyped-def]
    model, longest = config.build().eval(), 3
    source = torch.tensor([[3, 4, 3]])
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(2)
        others = [token for token in range(5) if token != END]
        texts = [(*body, END) for length in range(longest) for body in itertools.product(others, repeat=length)]
        texts += list(itertools.product(others, repeat=longest))
        scored = {text: log_probability(model, source, text) / len(text) ** power for text in texts}
        [result] = Beam(width=200, length_penalty=power).search(model, model.init_state(source), 1, START, END, longest)
    best = max(scored, key=lambda text: scored[text])
    assert result[0].tokens == [token for token in best if token != END]
    assert result[0].score == pytest.approx(scored[best], abs=1e-4)
    assert [text.score for text in result] == sorted((text.score for text in result), reverse=True)


def test_a_beam_of_one_is_greedy():
    model = Transformer(vocab=12, width=16, layers=1, heads=2).build().eval()
    source = torch.randint(3, 12, (5, 6))
    plain = greedy(model, model.init_state(source), 5, START, END, 9)
    assert [
        result[0].tokens for result in Beam(width=1).search(model, model.init_state(source), 5, START, END, 9)
    ] == plain


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """Their model with random weights, sharp enough that texts end, and ours read from its folder."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.MarianConfig(
        vocab_size=40, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, pad_token_id=0, eos_token_id=END,
        decoder_start_token_id=0, max_position_embeddings=64, forced_eos_token_id=None,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, weight in theirs.named_parameters():
            if weight.dim() > 1 and "positions" not in name:
                weight.mul_(6)
    folder: Path = tmp_path_factory.mktemp("marian")
    theirs.save_pretrained(folder)
    return theirs, load(folder).model


@pytest.mark.parametrize(("beams", "power"), [(1, 1.0), (4, 1.0), (5, 0.6), (3, 2.0)])
def test_equals_the_search_of_transformers(marian, beams: int, power: float):  # type: ignore[no-untyped-def]
    theirs, ours = marian
    lengths = torch.tensor([11, 3, 5, 9, 2, 11, 7])
    valid = torch.arange(11) < lengths[:, None]
    source = torch.randint(3, 40, (7, 11)).masked_fill(~valid, 0)
    output = theirs.generate(
        input_ids=source, attention_mask=valid.long(), num_beams=beams, max_new_tokens=15, length_penalty=power,
        do_sample=False, num_return_sequences=beams,
    )  # fmt: skip
    expected = [row[: row.index(END)] if END in row else row for row in output[:, 1:].tolist()]
    state = ours.init_state(source, valid)
    if beams == 1:
        result = [[tokens] for tokens in greedy(ours, state, 7, 0, END, 15)]
    else:
        result = [[text.tokens for text in texts] for texts in Beam(beams, power).search(ours, state, 7, 0, END, 15)]
    for row in range(7):
        for place in range(beams):
            theirs_here = expected[row * beams + place]
            assert result[row][place] == theirs_here[: len(result[row][place])]
            assert not any(theirs_here[len(result[row][place]) :]), "only padding follows"
