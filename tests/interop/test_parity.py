"""Every family, read from a folder that `transformers` wrote: the same logits and attention patterns; and back."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.interop.huggingface import read, write
from regard.parts import Padding, Positions
from tests.interop.comparing import ask_both, right_padding, tokens
from tests.interop.comparing import difference as compare
from tests.interop.families import ALL, CAUSAL, ENCODERS, PICTURES, reload, save

CLOSE = 1e-5
WRITTEN = [name for name in CAUSAL | ENCODERS | PICTURES if name not in ("bert-trunk", "bert-pretraining")]


def kind_of(name: str) -> str:
    kinds = {"causal": CAUSAL, "encoder": ENCODERS, "pictures": PICTURES}
    return next((kind for kind, names in kinds.items() if name in names), "pairs")


def difference(name: str, theirs: Any, ours: Any) -> float:
    return compare(kind_of(name), theirs, ours)


@pytest.mark.parametrize("name", ALL)
def test_reads_what_transformers_wrote(name: str, tmp_path: Path, record_property: Any) -> None:
    theirs = save(name, tmp_path)
    imported = read(tmp_path)
    gap = difference(name, theirs, imported.model)
    record_property("difference", gap)
    print(f"{name}: {gap:.1e}")
    assert gap < CLOSE
    assert not imported.model.training
    assert imported.extra["unread"] == []


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert-fill", "vit", "marian", "t5"])
def test_reads_shards(name: str, tmp_path: Path) -> None:
    theirs = save(name, tmp_path, max_shard_size="50KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    assert difference(name, theirs, read(tmp_path).model) < CLOSE


@pytest.mark.parametrize("name", WRITTEN)
def test_writes_what_transformers_reads(name: str, tmp_path: Path) -> None:
    theirs = save(name, tmp_path / "first")
    imported = read(tmp_path / "first")
    write(imported.config, imported.model, tmp_path / "second", extra=imported.extra)
    back = reload(name, tmp_path / "second")
    assert difference(name, back, imported.model) < CLOSE
    logits, again = ask_both(kind_of(name), theirs, imported.model)[0], ask_both(kind_of(name), back, imported.model)[0]
    assert torch.allclose(logits, again, atol=CLOSE)
    twice = read(tmp_path / "second")
    assert twice.config == imported.config
    assert twice.extra == imported.extra
    ours, other = imported.model.state_dict(), twice.model.state_dict()
    assert ours.keys() == other.keys()
    assert all(torch.equal(ours[key], other[key]) for key in ours)


def test_left_padding_with_places(tmp_path: Path) -> None:
    for name in ("gpt2", "llama-grouped-tied"):
        theirs = save(name, tmp_path / name)
        given, valid = tokens(2, 9), right_padding(2, 9).flip(1)
        places = (valid.long().cumsum(1) - 1).clamp(min=0)
        with torch.no_grad():
            logits = theirs(given, attention_mask=valid.long(), position_ids=places).logits
            mine = read(tmp_path / name).model(given, Padding(valid), Positions(places))
        assert (logits - mine)[valid].abs().max() < CLOSE


def test_cached_decoding_equals_theirs(tmp_path: Path) -> None:
    theirs = save("llama-biases-linear", tmp_path)
    model, given = read(tmp_path).model, tokens(2, 10)
    state = model.init_state()
    with torch.no_grad():
        steps = [model.step(given[:, place : place + 1], state)[0] for place in range(10)]
        assert (torch.cat(steps, 1) - theirs(given).logits).abs().max() < CLOSE


def test_older_rope_keys_mean_the_same(tmp_path: Path) -> None:
    for name in ("llama-biases-linear", "llama-mlp-bias-llama3"):
        theirs = save(name, tmp_path / name)
        file = tmp_path / name / "config.json"
        data = json.loads(file.read_text())
        rope = data.pop("rope_parameters")
        data["rope_theta"] = rope.pop("rope_theta")
        if rope["rope_type"] == "linear":
            rope["type"] = rope.pop("rope_type")
        data["rope_scaling"] = rope
        file.write_text(json.dumps(data))
        assert difference(name, theirs, read(tmp_path / name).model) < CLOSE


def test_half_precision_is_read_into_float32(tmp_path: Path) -> None:
    for kind in (torch.bfloat16, torch.float16):
        theirs = save("gpt2", tmp_path)
        theirs.to(kind).save_pretrained(tmp_path)
        imported = read(tmp_path)
        assert {p.dtype for p in imported.model.parameters()} == {torch.float32}
        assert difference("gpt2", theirs.float(), imported.model) < CLOSE
        assert next(read(tmp_path, dtype=kind).model.parameters()).dtype == kind


def test_labels_survive(tmp_path: Path) -> None:
    save("bert-label", tmp_path / "one")
    imported = read(tmp_path / "one")
    assert imported.extra["id2label"] == {0: "bad", 1: "fair", 2: "good"}
    write(imported.config, imported.model, tmp_path / "two", extra=imported.extra)
    assert reload("bert-label", tmp_path / "two").config.id2label == {0: "bad", 1: "fair", 2: "good"}


def test_older_names_buffers_and_copies(tmp_path: Path) -> None:
    """As the first files on the hub are: no prefix, masks among the weights, gamma and beta, tied copies."""
    from safetensors.torch import load_file, save_file

    file = tmp_path / "model.safetensors"
    theirs = save("gpt2", tmp_path)
    stored = {name.removeprefix("transformer."): tensor for name, tensor in load_file(file).items()}
    stored |= {f"h.{n}.attn.bias": torch.ones(1, 1, 24, 24, dtype=torch.uint8) for n in range(2)}
    stored["lm_head.weight"] = stored["wte.weight"].clone()
    save_file(stored, file)
    assert difference("gpt2", theirs, read(tmp_path).model) < CLOSE

    theirs = save("bert-pretraining", tmp_path)
    stored = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor
        for name, tensor in load_file(file).items()
    }
    stored["cls.predictions.decoder.weight"] = stored["bert.embeddings.word_embeddings.weight"].clone()
    stored["bert.embeddings.position_ids"] = torch.arange(24)[None]
    save_file(stored, file)
    imported = read(tmp_path)
    assert difference("bert-pretraining", theirs, imported.model) < CLOSE
    assert "bert.pooler.dense.weight" in imported.extra["unused"]

    theirs = save("t5", tmp_path)
    stored = load_file(file)
    stored["encoder.embed_tokens.weight"] = stored.pop("shared.weight")
    save_file(stored, file)
    assert difference("t5", theirs, read(tmp_path).model) < CLOSE


def test_pickle_of_tensors_only(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    theirs = save("marian", tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    stored["model.encoder.embed_positions.weight"] = torch.zeros(24, 32)
    (tmp_path / "model.safetensors").unlink()
    torch.save(stored, tmp_path / "pytorch_model.bin")
    assert difference("marian", theirs, read(tmp_path).model) < CLOSE
