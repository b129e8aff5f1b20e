"""The portable recipe of translators: `transformers` loads the folder and writes what the run writes."""

import json

import pytest
import torch
import transformers

import regard
from regard.core.errors import ConfigError
from regard.export import HuggingFace, export
from regard.models import RNN
from regard.tasks.portable import portable
from regard.tasks.translate.recipe import translator
from tests.command import regard as command
from tests.export.runs import train


def test_a_portable_translator_is_a_marian(tmp_path):
    run = regard.load(train("translate", tmp_path, "--recipe", "portable"))
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    export(run, HuggingFace(), tmp_path / "hf")
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path / "hf").eval()
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    texts = ["ein Hund", "zwei Katzen spielen"]
    given = reader(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    written = theirs.generate(**given, max_new_tokens=9, do_sample=False)
    assert reader.batch_decode(written, skip_special_tokens=True) == run(texts, max_tokens=9)
    target = torch.randint(5, run.config.vocab, (2, 4))
    with torch.no_grad():
        logits = theirs(**given, decoder_input_ids=target).logits
        ours = run.model(given.input_ids, target, given.attention_mask.bool())
    assert (logits - ours).abs().max() < 1e-4
    again = regard.load(tmp_path / "hf")
    assert again(texts, max_tokens=9) == run(texts, max_tokens=9)
    card = (tmp_path / "hf" / "README.md").read_text()
    assert card.startswith("---\n")
    assert "pipeline_tag" in card.split("---")[1]
    assert json.loads((tmp_path / "hf" / "generation_config.json").read_text())["eos_token_id"] == run.tokenizer.end


def test_a_translator_with_other_parts_is_refused(tmp_path, capsys):
    run = train("translate", tmp_path)
    assert command("export", run, "--to", "huggingface", "--out", tmp_path / "hf") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "model.norm" in error or "model.wiring" in error
    assert "`regard train translate --recipe portable`" in error
    assert not (tmp_path / "hf").exists()


def test_an_rnn_is_not_portable():
    with pytest.raises(ConfigError, match="RNN"):
        portable(translator(("a",), ("b",), "rnn"))
    assert isinstance(translator(("a",), ("b",), "rnn").model, RNN)
