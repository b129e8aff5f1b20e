"""Log-probabilities of texts from a language model."""

from pathlib import Path

import pytest
import torch

from regard.core.errors import ConfigError
from regard.models import GPT
from regard.tasks import LanguageModel, load_run, save_run
from regard.tasks.base import EvalOptions
from regard.text import Characters


def test_each_token_is_scored_by_those_before_it_in_its_window(tmp_path: Path):
    tokenizer = Characters().train(["the cat sat"])
    config = GPT(vocab=tokenizer.vocab, width=16, layers=1, heads=2)
    save_run(tmp_path / "run", config, config.build(), LanguageModel(length=4), tokenizer)
    run = load_run(tmp_path / "run")
    text = "the cat sat"
    scored, single, empty = run.score([text, "t", ""])
    assert scored.tokens == tuple(text)
    assert scored.log_probabilities[0] is None
    [tokens] = tokenizer.encode([text])
    for place in range(1, len(tokens)):
        start = (place - 1) // 4 * 4
        logits = run.model(torch.tensor([tokens[start:place]]))[0, -1]
        assert scored.log_probabilities[place] == pytest.approx(logits.log_softmax(-1)[tokens[place]].item(), abs=1e-4)
    (tmp_path / "a.txt").write_text(text)
    loss = run.task.evaluate(run, [str(tmp_path / "a.txt")], EvalOptions())["loss"]
    assert scored.total == pytest.approx(-10 * loss, rel=1e-4)
    assert (single.log_probabilities, single.total, empty.tokens, empty.total) == ((None,), 0, (), 0)
    with pytest.raises(ConfigError, match="a list of texts is needed"):
        run.score(text)
