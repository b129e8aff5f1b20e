"""Folders whose only tokenizer is a SentencePiece model: the tokens and answers that `transformers` gives."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import regard
from regard.core.errors import UserError
from regard.export import HuggingFace, export
from regard.text import Tokenizer
from regard.text.spm_file import Kind, parse_spm
from tests.interop.families import MARIAN, SIZES, T5
from tests.text.spm import texts, trained

pytest.importorskip("sentencepiece", reason="the extra dev has it")

TEXTS = ["Two dogs play.", "Über naïve cafés: 1,234", *(one.strip() for one in texts(100, seed=5))]
LONG = SIZES | {"max_position_embeddings": 400}


def save(
    folder: Path, kind: str, settings: dict[str, Any], files: dict[str, bytes | str], names: dict[str, Any]
) -> Any:
    """A folder with random weights and these files instead of a tokenizer.json."""
    cls = getattr(transformers, kind)
    torch.manual_seed(1)
    model = cls(cls.config_class(**settings)).eval()
    model.save_pretrained(folder)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    return model


def llama(folder: Path) -> Any:
    names = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}
    ids = {"vocab_size": 2503, "bos_token_id": 1, "eos_token_id": 2}
    save(folder, "LlamaForCausalLM", LONG | ids, {"tokenizer.model": trained("llama")}, names)
    return transformers.LlamaTokenizer.from_pretrained(folder)


def t5(folder: Path) -> Any:
    ids = {"vocab_size": 1600, "decoder_start_token_id": 0, "num_decoder_layers": 2}
    save(folder, "T5ForConditionalGeneration", T5 | ids, {"spiece.model": trained("t5")}, {})
    return transformers.T5Tokenizer.from_pretrained(folder)


def xlm_roberta(folder: Path) -> Any:
    files = {"sentencepiece.bpe.model": trained("unigram")}
    save(folder, "XLMRobertaForMaskedLM", LONG | {"vocab_size": 1502}, files, {})
    return transformers.XLMRobertaTokenizer.from_pretrained(folder)


def listed(*kinds: str) -> list[str]:
    """Marian's own order: the end, the unknown token, all pieces, padding."""
    pieces = [one.text for kind in kinds for one in parse_spm(trained(kind)).pieces if one.kind == Kind.NORMAL]
    return ["</s>", "<unk>", *dict.fromkeys([*pieces, ">>fr<<"]), "<pad>"]


def marian(folder: Path, *, two: bool = False, **settings: Any) -> Any:
    files: dict[str, bytes | str] = {"source.spm": trained("unigram"), "target.spm": trained("target")}
    both = listed("unigram", "target")
    if two:  # the same special tokens, at the same numbers
        short, long = listed("target"), listed("unigram")
        filling = [f"filling {number}" for number in range(len(long) - len(short))]
        lists = {"vocab.json": long, "target_vocab.json": [*short[:-1], *filling, "<pad>"]}
        settings |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": len(long)}
    else:
        lists = {"vocab.json": both}
    for name, tokens in lists.items():
        files[name] = json.dumps({token: number for number, token in enumerate(tokens)})
    size = len(lists["vocab.json"])
    ids = {"vocab_size": size, "pad_token_id": size - 1, "decoder_start_token_id": size - 1, "eos_token_id": 0}
    own = MARIAN | ids | {"forced_eos_token_id": None, "max_position_embeddings": 400} | settings
    save(folder, "MarianMTModel", own, files, {"separate_vocabs": two})
    return transformers.MarianTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("make", [llama, t5, xlm_roberta, marian])
def test_tokens_are_those_of_transformers(make: Any, tmp_path: Path) -> None:
    other = make(tmp_path)
    tokenizer = regard.load(tmp_path).tokenizer
    assert tokenizer is not None
    assert tokenizer.encode(TEXTS) == [other(one, add_special_tokens=False).input_ids for one in TEXTS]
    if make is llama:
        assert tokenizer.prompt("Two dogs") == [1, *other("Two dogs", add_special_tokens=False).input_ids]
    assert tokenizer.engine.encode("Two dogs").ids[-1] == other("Two dogs").input_ids[-1]
    kept = tmp_path / "kept.json"
    tokenizer.save(kept)
    again = Tokenizer.load(kept)
    assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert again.targets.encode(TEXTS) == tokenizer.targets.encode(TEXTS)


@pytest.mark.parametrize("two", [False, True])
def test_a_marian_model_reads_and_writes_text(two: bool, tmp_path: Path) -> None:
    other = marian(tmp_path, two=two)
    run = regard.load(tmp_path)
    targets = [other(text_target=one, add_special_tokens=False).input_ids for one in TEXTS]
    assert run.tokenizer.encode(TEXTS) == [other(one, add_special_tokens=False).input_ids for one in TEXTS]
    assert run.tokenizer.targets.encode(TEXTS) == targets
    known = [tokens for tokens in targets if 1 not in tokens]
    assert [one.strip() for one in run.tokenizer.targets.decode(known)] == other.batch_decode(known)
    model = transformers.MarianMTModel.from_pretrained(tmp_path).eval()
    for text in TEXTS[:5]:
        given = other(text, return_tensors="pt")
        [out] = model.generate(**given, max_new_tokens=8, do_sample=False, num_beams=1)
        [own] = run.translate([text], 8)
        assert own.strip() == other.decode(out, skip_special_tokens=True)
    pairs = list(zip(TEXTS[:3], TEXTS[3:6], strict=True))
    labels = [torch.tensor([[*other(text_target=target).input_ids]]) for _, target in pairs]
    wanted = [
        -model(**other(one, return_tensors="pt"), labels=label).loss.item()
        for (one, _), label in zip(pairs, labels, strict=True)
    ]
    assert run.score(pairs) == pytest.approx(wanted, abs=1e-4)


def test_a_language_code_is_a_token(tmp_path: Path) -> None:
    other = marian(tmp_path)
    tokens = regard.load(tmp_path).tokenizer.encode([">>fr<< Two dogs"])[0]
    assert tokens == other(">>fr<< Two dogs", add_special_tokens=False).input_ids
    assert tokens[0] == listed("unigram", "target").index(">>fr<<")


def test_added_tokens_have_the_numbers_that_the_folder_gives_them(tmp_path: Path) -> None:
    llama(tmp_path)
    (tmp_path / "added_tokens.json").write_text('{"<|user|>": 2500, "<|end|>": 2501}')
    tokenizer = regard.load(tmp_path).tokenizer
    assert tokenizer.encode(["<|user|>"]) == [[2500]]
    (tmp_path / "added_tokens.json").write_text('{"<|user|>": 2502}')
    with pytest.raises(UserError, match=r"<\|user\|> should be number 2,502"):
        regard.load(tmp_path).generate("a")


def test_what_a_folder_lacks_is_one_line(tmp_path: Path) -> None:
    marian(tmp_path)
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 2}')
    with pytest.raises(UserError, match=r"vocab\.json must number its tokens from 0"):
        regard.load(tmp_path).translate(["a"])
    (tmp_path / "source.spm").write_bytes(b"\x0a\x0e")
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 1}')
    with pytest.raises(UserError, match=r"source\.spm: is not a SentencePiece model"):
        regard.load(tmp_path).translate(["a"])


def test_what_is_exported_has_a_tokenizer_json(tmp_path: Path) -> None:
    llama(tmp_path / "spm")
    run = regard.load(tmp_path / "spm")
    export(run, HuggingFace(), tmp_path / "out")
    again, other = regard.load(tmp_path / "out"), transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert again.tokenizer.encode(TEXTS) == run.tokenizer.encode(TEXTS)
    assert [other(one, add_special_tokens=False).input_ids for one in TEXTS] == run.tokenizer.encode(TEXTS)
    assert again.tokenizer.prompt("Two dogs") == run.tokenizer.prompt("Two dogs")
