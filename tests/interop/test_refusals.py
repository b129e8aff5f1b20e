"""What a folder must not do: run code, reach out of itself, ask for the impossible, or say what we cannot express."""

import json
import os
import pickle
import struct
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.core.errors import ConfigError, UserError
from regard.interop.huggingface import is_folder, read, write
from regard.models import BERT, GPT, NPT, GiveStates, Transformer, ViT
from regard.parts import (
    ALiBi,
    BigBird,
    Experts,
    Full,
    GeGLU,
    Learned,
    NoFeed,
    PostNorm,
    PreNorm,
    ReLU,
    RMSNorm,
    Rotary,
    SquaredReLU,
    SwiGLU,
)
from tests.interop.families import save

SOURCES = ["gpt2", "llama", "neox", "bert-fill", "bert-label", "vit", "marian", "t5"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of each family, never changed: tests copy from it."""
    folder = tmp_path_factory.mktemp("shelf")
    for name in SOURCES:
        save(name, folder / name)
    return folder


@pytest.fixture
def copy(shelf: Path, tmp_path: Path) -> Any:
    def copied(name: str) -> Path:
        folder = tmp_path / "inside" / name
        folder.mkdir(parents=True)
        for file in (shelf / name).iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return folder

    return copied


def refused(folder: Path, *words: str, kind: type[UserError] = UserError) -> str:
    """Reading ends in one quick line that says all of `words`."""
    start = time.monotonic()
    with pytest.raises(kind) as caught:
        read(folder)
    message = str(caught.value)
    assert time.monotonic() - start < 5
    assert "\n" not in message
    assert len(message) < 2000
    for word in words:
        assert word in message, message
    return message


def change(folder: Path, **keys: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | keys))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("gpt2", "vocab_size", 10**12),
        ("gpt2", "n_layer", -1),
        ("gpt2", "n_layer", 10**6),
        ("gpt2", "n_head", 0),
        ("gpt2", "n_embd", 32.5),
        ("gpt2", "n_embd", "32"),
        ("gpt2", "n_layer", True),
        ("gpt2", "activation_function", "mish"),
        ("gpt2", "activation_function", ["relu"]),
        ("gpt2", "scale_attn_by_inverse_layer_idx", True),
        ("gpt2", "add_cross_attention", True),
        ("gpt2", "layer_norm_epsilon", -1.0),
        ("gpt2", "embd_pdrop", 7),
        ("gpt2", "model_type", "opt"),
        ("gpt2", "architectures", ["GPT2ForSequenceClassification"]),
        ("gpt2", "quantization_config", {"bits": 4}),
        ("gpt2", "auto_map", {"AutoModel": "theirs.Code"}),
        ("gpt2", "eos_token_id", "two"),
        ("llama", "rope_scaling", {"rope_type": "yarn", "factor": 4.0}),
        ("llama", "rope_parameters", {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}),
        ("llama", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}),
        ("llama", "rope_parameters", {"rope_type": "linear", "rope_theta": 1e4, "factor": -2}),
        ("llama", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2]}),
        ("llama", "hidden_act", "gelu"),
        ("llama", "num_key_value_heads", 3),
        ("llama", "sliding_window", 128),
        ("llama", "num_key_value_heads", 10**9),
        ("neox", "use_parallel_residual", True),
        ("bert-fill", "position_embedding_type", "relative_key"),
        ("bert-fill", "hidden_act", "relu"),
        ("bert-fill", "is_decoder", True),
        ("bert-label", "id2label", {"0": "a", "7": "b"}),
        ("vit", "image_size", [16, 24]),
        ("vit", "patch_size", 5),
        ("marian", "decoder_ffn_dim", 64),
        ("marian", "normalize_before", True),
        ("marian", "tie_word_embeddings", False),
        ("t5", "feed_forward_proj", "gated-tanh"),
        ("t5", "dense_act_fn", "gelu"),
        ("t5", "relative_attention_max_distance", 2),
    ],
)
def test_settings_that_cannot_be(name: str, key: str, value: Any, copy: Any) -> None:
    folder = copy(name)
    change(folder, **{key: value})
    inner = key if not key.startswith("rope_") else "rope"
    said = {"n_embd": "n_embd", "num_key_value_heads": "key", "patch_size": "patch"}.get(key, inner)
    refused(folder, "config.json", said, kind=ConfigError)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model_type": "gpt2", "layer_norm_epsilon": NaN}', "NaN"),
        ('{"model_type": "gpt2", "layer_norm_epsilon": 1e400}', "layer_norm_epsilon"),
        ('{"model_type": "gpt2", "n_layer": ' + "9" * 5000 + "}", "not JSON"),
        ('{"a": ' * 10_000 + "1" + "}" * 10_000, "nested"),
        ("[" * 10_000 + "]" * 10_000, "nested"),
        ("[1, 2]", "no JSON object"),
        ("{", "not JSON"),
        ("\ufeff{}", "model_type"),
        ("{}", "model_type"),
        ('{"model_type": ["gpt2"]}', "model_type"),
        ('{"model_type": "gpt2", "architectures": "GPT2LMHeadModel"}', "architectures"),
        (" " * 20_000_000, "bytes"),
    ],
    ids=lambda text: text[:20],
)
def test_files_that_are_no_config(text: str, said: str, copy: Any) -> None:
    folder = copy("gpt2")
    (folder / "config.json").write_text(text, encoding="utf-8")
    refused(folder, "config.json", said)
    assert is_folder(folder) == ('"gpt2"' in text and "NaN" not in text and "999" not in text and "[" not in text[:20])


def test_names_of_tensors_are_told(copy: Any) -> None:
    folder = copy("bert-fill")
    file = folder / "model.safetensors"
    stored = load_file(file)
    stored["bert.encoder.layer.1.output.dense.weight"] = torch.zeros(3, 4)
    del stored["cls.predictions.bias"]
    stored["bert.encoder.layer.7.output.dense.weight"] = torch.zeros(2)
    stored["evil\nname"] = torch.zeros(2)
    save_file(stored, file)
    refused(
        folder,
        "missing: cls.predictions.bias",
        "bert.encoder.layer.7.output.dense.weight",
        "evil\\nname",
        "misshapen: bert.encoder.layer.1.output.dense.weight (3×4 on disk, 32×48 needed)",
    )


def test_a_config_larger_than_its_weights_builds_nothing(copy: Any) -> None:
    folder = copy("llama")
    change(folder, vocab_size=30_000_000, hidden_size=2**16, intermediate_size=2**18, num_hidden_layers=100)
    message = refused(folder, "missing", "misshapen", "model.embed_tokens.weight", "more")
    assert "30000000×65536" in message


def test_a_copy_that_differs_is_told(copy: Any) -> None:
    folder = copy("gpt2")
    stored = load_file(folder / "model.safetensors")
    save_file(stored | {"lm_head.weight": stored["transformer.wte.weight"] + 1}, folder / "model.safetensors")
    refused(folder, "lm_head.weight differs from transformer.wte.weight", "tie_word_embeddings")


def test_quantised_tensors(copy: Any) -> None:
    folder = copy("gpt2")
    stored = load_file(folder / "model.safetensors")
    stored["transformer.ln_f.bias"] = stored["transformer.ln_f.bias"].to(torch.int8)
    save_file(stored, folder / "model.safetensors")
    refused(folder, "transformer.ln_f.bias", "int8")


def test_what_is_missing_is_not_made_up(copy: Any) -> None:
    folder = copy("t5")
    stored = load_file(folder / "model.safetensors")
    save_file(stored | {"lm_head.weight": stored.pop("shared.weight")}, folder / "model.safetensors")
    refused(folder, "missing: shared.weight")
    folder = copy("bert-label")
    stored = load_file(folder / "model.safetensors")
    save_file(stored | {"cls.predictions.decoder.bias": torch.zeros(64)}, folder / "model.safetensors")
    refused(folder, "extra: cls.predictions.decoder.bias")


@pytest.mark.parametrize("way", ["sparse", "meta", "number", "nested"])
def test_pickles_of_other_things(way: str, copy: Any) -> None:
    folder = copy("gpt2")
    stored: dict[str, Any] = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    bias = stored["transformer.ln_f.bias"]
    odd = {"sparse": bias.to_sparse(), "meta": bias.to("meta"), "number": 3, "nested": {"a": bias}}
    torch.save(stored | {"transformer.ln_f.bias": odd[way]}, folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin")


class Payload:
    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


@pytest.mark.parametrize("way", ["torch", "pickle", "inside", "garbage", "empty"])
def test_pickles_never_run(way: str, copy: Any, tmp_path: Path) -> None:
    folder, target = copy("gpt2"), tmp_path / "ran"
    stored: dict[str, Any] = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    file = folder / "pytorch_model.bin"
    match way:
        case "torch":
            torch.save(Payload(target), file)
        case "pickle":
            file.write_bytes(pickle.dumps(Payload(target)))
        case "inside":
            torch.save(stored | {"lm_head.weight": Payload(target)}, file)
        case "garbage":
            file.write_bytes(os.urandom(1000))
        case "empty":
            file.write_bytes(b"")
    refused(folder, "pytorch_model.bin", "safetensors")
    assert not target.exists()


@pytest.mark.parametrize("way", ["parent", "absolute", "link", "linked-folder", "missing", "empty", "folder", "number"])
def test_shards_stay_in_the_folder(way: str, copy: Any, shelf: Path) -> None:
    folder = copy("gpt2")
    real = folder / "model.safetensors"
    outside = shelf / "gpt2" / "model.safetensors"
    names: dict[str, Any] = dict.fromkeys(load_file(real), "shard.safetensors")
    real.unlink()
    (folder.parent / "outside.safetensors").write_bytes(outside.read_bytes())
    match way:
        case "parent":
            names = dict.fromkeys(names, "../outside.safetensors")
        case "absolute":
            names = dict.fromkeys(names, str(outside))
        case "link":
            (folder / "shard.safetensors").symlink_to(outside)
        case "linked-folder":
            (folder / "sub").symlink_to(outside.parent)
            names = dict.fromkeys(names, "sub/model.safetensors")
        case "empty":
            names = dict.fromkeys(names, "")
        case "folder":
            (folder / "shard.safetensors").mkdir()
        case "number":
            names = dict.fromkeys(names, 3)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    said = {"missing": "is missing", "link": "link out of the folder", "folder": "not a file", "number": "weight_map"}
    refused(folder, said.get(way, "not the plain name"))


def test_links_out_are_refused_for_every_file(copy: Any, shelf: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        folder = copy("gpt2" if name == "config.json" else "vit" if name == "tokenizer.json" else "llama")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(shelf / "gpt2" / "config.json")
        refused(folder, name, "link out of the folder")
    loop = copy("marian")
    (loop / "config.json").unlink()
    (loop / "config.json").symlink_to(loop / "config.json")
    refused(loop, "link to nowhere")
    assert not is_folder(loop)


def test_a_link_inside_the_folder_is_fine(copy: Any) -> None:
    folder = copy("gpt2")
    (folder / "model.safetensors").rename(folder / "blob")
    (folder / "model.safetensors").symlink_to("blob")
    assert read(folder).config.vocab == 64


def header(data: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(data).encode()
    return struct.pack("<Q", len(text)) + text + body


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<Q", 2**60) + b"{}",
        header({"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}}, b"0000"),
        header({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}}, b"0000"),
        header({k: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for k in "ab"}, b"0000"),
    ],
    ids=["empty", "endless header", "overflow", "beyond the end", "overlapping"],
)
def test_broken_safetensors(content: bytes, copy: Any) -> None:
    folder = copy("gpt2")
    (folder / "model.safetensors").write_bytes(content)
    refused(folder, "model.safetensors", "not a whole safetensors file")


def test_truncated_weights_and_a_crowd_of_tensors(copy: Any) -> None:
    folder = copy("gpt2")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    refused(folder, "not a whole safetensors file")
    crowd = {f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(100_000)}
    file.write_bytes(header(crowd))
    refused(folder, "tensors", "refused")
    file.unlink()
    refused(folder, "holds no weights")


def test_is_folder_never_fails(tmp_path: Path) -> None:
    assert not is_folder(tmp_path)
    assert not is_folder(tmp_path / "nothing")
    (tmp_path / "config.json").mkdir()
    assert not is_folder(tmp_path)


LLAMA = GPT(vocab=8, width=8, layers=1, heads=2, position=Rotary(), norm=RMSNorm(), feed=SwiGLU(), bias=False)
GPT2 = GPT(vocab=8, width=8, layers=1, heads=2, position=Learned(8))
PLAIN_BERT = BERT(vocab=8, width=8, layers=1, heads=2)
PLAIN_VIT = ViT(labels=2, width=8, layers=1, heads=2, image=8, patch=4)


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (replace(GPT2, attention=BigBird(block=4)), "attention"),
        (replace(GPT2, feed=Experts()), "feed"),
        (replace(GPT2, feed=NoFeed()), "feed"),
        (replace(GPT2, feed=SwiGLU()), "feed"),
        (replace(GPT2, norm=RMSNorm()), "norm"),
        (replace(GPT2, wiring=PostNorm()), "wiring"),
        (replace(GPT2, bias=False), "bias"),
        (replace(GPT2, key_heads=1), "heads"),
        (replace(GPT2, query_norm=RMSNorm()), "query_norm"),
        (replace(GPT2, attention=Full(scale=0.3)), "attention.scale"),
        (replace(GPT2, position=ALiBi()), "position"),
        (replace(LLAMA, feed=SquaredReLU()), "feed"),
        (replace(LLAMA, query_bias=True), "bias"),
        (replace(LLAMA, attention=Full(scale=1.0)), "attention.scale"),
        (replace(PLAIN_BERT, head=GiveStates()), "head"),
        (replace(PLAIN_BERT, wiring=PreNorm()), "wiring"),
        (replace(PLAIN_BERT, feed=ReLU()), "feed"),
        (replace(PLAIN_VIT, pool="mean"), "pool"),
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
        replace(LLAMA, feed=GeGLU(), key_heads=1, size=6, query_bias=None, bias=True),
        GPT(vocab=8, width=8, layers=1, heads=2),
        PLAIN_BERT,
        PLAIN_VIT,
    ],
    ids=str,
)
def test_our_own_models_load_in_transformers(config: Any, tmp_path: Path) -> None:
    import transformers

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
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

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
    found = {key: imported.extra[key] for key in ("pad_token_id", "bos_token_id", "eos_token_id", "length")}
    assert found == {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "length": 99}


def test_writing_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write(GPT2, GPT2.build(), tmp_path / "file")
    with pytest.raises(ConfigError, match="id2label"):
        write(PLAIN_VIT, PLAIN_VIT.build(), tmp_path / "out", extra={"id2label": {0: "one"}})
