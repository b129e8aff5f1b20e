"""The portable recipe of translators: `transformers` loads the folder and writes what the run writes."""

import json
from dataclasses import replace

import pytest
import torch
import transformers

import regard
from regard.core.errors import ConfigError
from regard.export import HuggingFace, export
from regard.export.t5 import t5_settings
from regard.models import RNN, Transformer
from regard.parts import Full, GeGLU, LayerNorm, PostNorm, ReLU, RMSNorm, SquaredReLU, T5Bias
from regard.tasks import save_run
from regard.tasks.portable import portable
from regard.tasks.translate.recipe import translator
from regard.tasks.translate.task import Translate
from regard.text import BPE
from tests.command import regard as command
from tests.export.runs import train
from tests.interop.worded import folder


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


T5_SHAPE = Transformer(
    vocab=0,
    width=16,
    layers=2,
    decoder_layers=1,
    heads=2,
    head_size=6,
    attention=Full(scale=1.0),
    position=T5Bias(8, 12),
    norm=RMSNorm(1e-6),
    feed=GeGLU(24),
    bias=False,
    embed_scale=1.0,
)


@pytest.mark.parametrize("change", [{}, {"tied": False, "feed": ReLU(24)}, {"logit_scale": 16**-0.5}])
def test_a_translator_with_the_parts_of_t5_is_a_t5(change, tmp_path):
    tokenizer = BPE(300).train(["two dogs play", "zwei Hunde spielen"])
    config = replace(T5_SHAPE, vocab=tokenizer.vocab, **change)
    torch.manual_seed(1)
    model = config.build().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    save_run(tmp_path / "run", config, model, Translate(), tokenizer)
    assert command("export", tmp_path / "run", "--to", "huggingface", "--out", tmp_path / "hf") == 0
    run, again = regard.load(tmp_path / "run"), regard.load(tmp_path / "hf")
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "hf").eval()
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    given = reader(["two dogs", "zwei Hunde spielen"], padding=True, return_tensors="pt", return_token_type_ids=False)
    target = torch.randint(5, config.vocab, (2, 4))
    with torch.no_grad():
        wanted = theirs(**given, decoder_input_ids=target).logits
        for one in (run, again):
            ours = one.model(given.input_ids, target, given.attention_mask.bool())
            assert (ours - wanted).abs().max() < 2e-5 * max(1, float(wanted.abs().max()))
    settings = json.loads((tmp_path / "hf" / "generation_config.json").read_text())
    assert settings["decoder_start_token_id"] == tokenizer.start


@pytest.mark.parametrize(
    "change",
    [
        {"attention": Full()}, {"norm": LayerNorm()}, {"bias": True}, {"embed_scale": None}, {"logit_scale": 0.5},
        {"feed": SquaredReLU()}, {"kv_heads": 1}, {"wiring": PostNorm()},
    ],
)  # fmt: skip
def test_what_t5_lacks_is_named(change):
    with pytest.raises(ConfigError, match=rf"model\.{next(iter(change))}: .* Hugging Face T5 folder"):
        t5_settings(replace(T5_SHAPE, vocab=9, **change))
    assert t5_settings(replace(T5_SHAPE, vocab=9))["d_kv"] == 6


def test_the_sampling_of_the_makers_is_kept(tmp_path):
    folder("gpt2", tmp_path / "base")
    sampling = {"do_sample": True, "temperature": 0.7, "top_k": 5, "eos_token_id": 0}
    (tmp_path / "base" / "generation_config.json").write_text(json.dumps(sampling))
    export(regard.load(tmp_path / "base"), HuggingFace(), tmp_path / "out")
    written = transformers.GenerationConfig.from_pretrained(tmp_path / "out")
    assert (written.do_sample, written.temperature, written.top_k, written.eos_token_id) == (True, 0.7, 5, 0)
