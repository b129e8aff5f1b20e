"""What a folder must not do: run code, reach out of itself, or hold other tensors than it says."""

import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from regard.core.errors import UserError
from regard.interop.huggingface import read
from tests.interop.refusing import change, refused


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
    messages = {
        "missing": "is missing",
        "link": "link out of the folder",
        "folder": "not a file",
        "number": "weight_map",
    }
    refused(folder, messages.get(way, "not the plain name"))


def test_links_out_are_refused_for_every_file(copy: Any, shelf: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        folder = copy("gpt2" if name == "config.json" else "vit" if name == "tokenizer.json" else "llama")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(shelf / "gpt2" / "config.json")
        refused(folder, name, "link out of the folder")
    loop = copy("marian")
    (loop / "config.json").unlink()
    (loop / "config.json").symlink_to(loop / "config.json")
    refused(loop, "is a broken link")


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


@pytest.mark.parametrize(
    ("text", "message"), [(None, "is neither a run folder"), ("{", "is not JSON"), ("{}", "names no model_type")]
)
def test_what_is_wrong_with_a_folder_is_told_where_it_is_loaded(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(UserError, match=message):
        regard.load(tmp_path)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ('{"image_mean": [NaN, 0.5, 0.5]}', "NaN"),
        ('{"image_std": [1e999, 0.5, 0.5]}', "image_std"),
        ('{"image_std": [true, 0.5, 0.5]}', "image_std"),
        ('{"do_rescale": false}', "do_rescale"),
        ('{"rescale_factor": 0.5}', "rescale_factor"),
        (None, "link out of the folder"),
    ],
)
def test_images_that_are_wanted_otherwise(contents: str | None, message: str, copy: Any, tmp_path: Path) -> None:
    folder = copy("vit")
    file = folder / "preprocessor_config.json"
    if contents is None:
        (tmp_path / "outside.json").write_text("{}")
        file.symlink_to(tmp_path / "outside.json")
    else:
        file.write_text(contents)
    with pytest.raises(UserError, match=message):
        regard.load(folder)


def test_another_way_of_resizing_is_noted(copy: Any, caplog: pytest.LogCaptureFixture) -> None:
    folder = copy("vit")
    (folder / "preprocessor_config.json").write_text('{"do_normalize": false, "resample": 2}')
    with caplog.at_level("INFO", logger="regard"):
        task = regard.load(folder).task
    assert (task.mean, task.std) == ((0.0,) * 3, (1.0,) * 3), "pixels from 0 to 1, as they are"
    assert "resample" in caplog.text
