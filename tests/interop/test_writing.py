"""Our own models written out: `transformers` loads them and answers the same, or the part that it lacks is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from regard.core.errors import ConfigError, UserError
from regard.interop.huggingface import read, write
from regard.interop.pixels import write_pixels
from regard.models import BERT, GPT, NPT, NoHead, Transformer, ViT
from regard.parts import (
    ALiBi,
    BigBird,
    Convolutions,
    EmbeddingSkip,
    Experts,
    Full,
    GeGLU,
    Learned,
    Mean,
    NoFeed,
    PostNorm,
    PreNorm,
    ReLU,
    RMSNorm,
    Rotary,
    SquaredReLU,
    SwiGLU,
)
from regard.tasks import ClassifyImages

LLAMA = GPT(vocab=8, width=8, layers=1, heads=2, position=Rotary(), norm=RMSNorm(), feed=SwiGLU(), bias=False)
GPT2 = GPT(vocab=8, width=8, layers=1, heads=2, position=Learned(8))
PLAIN_BERT = BERT(vocab=8, width=8, layers=1, heads=2)
PLAIN_VIT = ViT(labels=2, width=8, layers=1, heads=2, image=8, patch=4)


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (replace(GPT2, attention=BigBird(block=4)), "attention"),
        (replace(GPT2, alternate=BigBird(block=4)), "alternate"),
        (replace(PLAIN_BERT, alternate=Full()), "alternate"),
        (replace(GPT2, feed=Experts()), "feed"),
        (replace(GPT2, feed=NoFeed()), "feed"),
        (replace(GPT2, feed=SwiGLU()), "feed"),
        (replace(GPT2, norm=RMSNorm()), "norm"),
        (replace(GPT2, wiring=PostNorm()), "wiring"),
        (replace(GPT2, bias=False), "bias"),
        (replace(GPT2, kv_heads=1), "heads"),
        (replace(GPT2, query_norm=RMSNorm()), "query_norm"),
        (replace(GPT2, attention=Full(scale=0.3)), "attention.scale"),
        (replace(GPT2, position=ALiBi()), "position"),
        (replace(LLAMA, feed=SquaredReLU()), "feed"),
        (replace(LLAMA, query_bias=True), "bias"),
        (replace(LLAMA, attention=Full(scale=1.0)), "attention.scale"),
        (replace(PLAIN_BERT, head=NoHead()), "head"),
        (replace(PLAIN_BERT, wiring=PreNorm()), "wiring"),
        (replace(PLAIN_BERT, feed=ReLU()), "feed"),
        (replace(PLAIN_VIT, pool=Mean()), "pool"),
        (replace(PLAIN_VIT, stem=Convolutions()), "stem"),
        (replace(PLAIN_VIT, embedding_skip=EmbeddingSkip()), "embedding_skip"),
        (replace(PLAIN_VIT, position=Rotary()), "position"),
        (Transformer(vocab=8, width=8, layers=1, heads=2), "Transformer"),
        (NPT(categories=(0, 2), width=8, layers=1, heads=2), "NPT"),
    ],
    ids=str,
)
def test_parts_that_transformers_lacks(config: Any, part: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{part}"):
        write(config, config.build(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "config",
    [
        GPT2,
        replace(GPT2, feed=SquaredReLU(12), tied=False),
        LLAMA,
        replace(LLAMA, feed=GeGLU(), kv_heads=1, head_size=6, query_bias=None, bias=True),
        GPT(vocab=8, width=8, layers=1, heads=2),
        PLAIN_BERT,
        PLAIN_VIT,
    ],
    ids=str,
)
def test_our_own_models_load_in_transformers(config: Any, tmp_path: Path) -> None:
    model = config.build().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    write(config, model, tmp_path)
    auto = {BERT: "AutoModelForMaskedLM", ViT: "AutoModelForImageClassification"}.get(
        type(config), "AutoModelForCausalLM"
    )
    theirs = getattr(transformers, auto).from_pretrained(tmp_path).eval()
    given = torch.rand(2, 1, 8, 8) if isinstance(config, ViT) else torch.randint(0, 8, (2, 6))
    with torch.no_grad():
        assert (theirs(given).logits - model(given)).abs().max() < 1e-5


def test_tokenizer_travels_along(tmp_path: Path) -> None:
    engine = Tokenizer(models.BPE(unk_token="<unk>"))
    engine.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    engine.train_from_iterator(["two dogs play in the snow"], trainers.BpeTrainer(special_tokens=special))
    engine.save(str(tmp_path / "tokenizer.json"))
    model = replace(LLAMA, vocab=engine.get_vocab_size())
    write(model, model.build(), tmp_path / "out", tmp_path / "tokenizer.json", {"length": 99})
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert theirs("two dogs").input_ids == engine.encode("two dogs").ids
    assert (theirs.pad_token, theirs.bos_token, theirs.eos_token, theirs.unk_token) == ("<pad>", "<s>", "</s>", "<unk>")
    imported = read(tmp_path / "out")
    assert imported.tokenizer == tmp_path / "out" / "tokenizer.json"
    settings = {key: imported.extra[key] for key in ("pad_token_id", "bos_token_id", "eos_token_id", "length")}
    assert settings == {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "length": 99}


def test_a_resize_that_transformers_lacks_is_told(tmp_path: Path, notes: list[str]) -> None:
    for resize in ("stretch", "crop"):
        write_pixels(tmp_path, PLAIN_VIT, vars(ClassifyImages(resize=resize, mean=(0.5,), std=(0.5,))))
        assert any("stretches" in note for note in notes) == (resize == "crop")


def test_writing_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write(GPT2, GPT2.build(), tmp_path / "file")
    with pytest.raises(ConfigError, match="id2label"):
        write(PLAIN_VIT, PLAIN_VIT.build(), tmp_path / "out", extra={"id2label": {0: "one"}})
