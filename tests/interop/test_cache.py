"""The Hugging Face cache, variants, shards of pickles, and the precision in memory."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.core.errors import ConfigError, UserError
from regard.interop.huggingface import read
from tests.interop.refusing import change, refused


@pytest.fixture
def cached(copy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The snapshot of a model as `huggingface_hub` leaves it: links into blobs."""
    folder, model = copy("gpt2"), tmp_path / "hub" / "models--org--name"
    snapshot = model / "snapshots" / "0123abc"
    for place in (snapshot, model / "blobs", model / "refs"):
        place.mkdir(parents=True)
    for number, file in enumerate(sorted(folder.iterdir())):
        file.rename(model / "blobs" / f"blob{number}")
        (snapshot / file.name).symlink_to(os.path.join("..", "..", "blobs", f"blob{number}"))
    (model / "refs" / "main").write_text("0123abc")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return snapshot


def test_a_snapshot_of_the_cache_is_read(cached: Path) -> None:
    assert read(cached).config.vocab == 64
    assert regard.load("org/name").path == cached


def test_links_out_of_the_cache_are_refused(cached: Path, shelf: Path) -> None:
    other = cached.parents[2] / "models--org--other" / "blobs"
    other.mkdir(parents=True)
    (other / "config").write_bytes((cached / "config.json").read_bytes())
    for target in (other / "config", shelf / "gpt2" / "config.json"):
        (cached / "config.json").unlink()
        (cached / "config.json").symlink_to(target)
        refused(cached, "config.json", "link out of the folder")


def test_a_model_by_its_name(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="hf download org/absent"):
        regard.load("org/absent")
    with pytest.raises(UserError, match="there is no such folder"):
        regard.load("absent")
    (cached.parents[1] / "refs" / "main").unlink()
    assert regard.load("org/name").path == cached, "the only snapshot needs no reference"
    (cached.parent / "4567def").mkdir()
    with pytest.raises(UserError, match="2 snapshots and no refs/main"):
        regard.load("org/name")
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(cached.parents[3]))
    with pytest.raises(UserError, match="2 snapshots"):
        regard.load("org/name")


def test_a_folder_of_that_name_comes_first(cached: Path, copy: Any, tmp_path: Path) -> None:
    (tmp_path / "org").mkdir()
    copy("llama").rename(tmp_path / "org" / "name")
    assert regard.load("org/name").extra["family"] == "llama"


def test_variants(copy: Any) -> None:
    folder = copy("gpt2")
    file = folder / "model.safetensors"
    file.rename(folder / "model.fp16.safetensors")
    assert read(folder).config.vocab == 64
    (folder / "model.bf16.safetensors").write_bytes((folder / "model.fp16.safetensors").read_bytes())
    refused(folder, "several variants", "model.bf16.safetensors, model.fp16.safetensors")


@pytest.mark.parametrize("lost", [False, True])
def test_shards_of_pickles(lost: bool, copy: Any) -> None:
    folder = copy("gpt2")
    before = read(folder).model.state_dict()
    stored = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names, index = sorted(stored), {}
    for number, some in enumerate((names[::2], names[1::2])):
        torch.save({name: stored[name] for name in some[lost:]}, folder / f"pytorch_model-{number}.bin")
        index |= dict.fromkeys(some, f"pytorch_model-{number}.bin")
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": index}))
    if lost:
        refused(folder, "pytorch_model.bin.index.json", "no shard holds", names[0])
    else:
        after = read(folder).model.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_number_of_labels_beats_stale_names(copy: Any) -> None:
    import transformers

    folder = copy("bert-label")
    change(folder, id2label={"0": "old", "1": "older"}, num_labels=3)
    theirs = transformers.AutoConfig.from_pretrained(folder)
    assert read(folder).extra["id2label"] == theirs.id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}


def test_precision_in_memory(copy: Any) -> None:
    folder = copy("gpt2")
    model = regard.load(folder, dtype="bfloat16", device="cpu").model
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in regard.load(folder, dtype="auto").model.parameters()} == {torch.float32}
    assert torch.get_default_dtype() == torch.float32
    for wrong in ("int8", "half-ish", torch.int64):
        with pytest.raises(ConfigError, match="dtype"):
            regard.load(folder, dtype=wrong)
