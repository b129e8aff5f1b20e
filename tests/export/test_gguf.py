"""GGUF files: read back by gguf's own reader, and by llama.cpp where it is installed, which writes the same tokens."""

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
import torch
from gguf import GGUFReader, quants

import regard
from regard.export import GGUF, export
from regard.models import GPT
from regard.parts import Learned, RMSNorm, Rotary, SwiGLU
from regard.parts.feed import TanhGELU
from regard.tasks import LanguageModel, save_run
from regard.text import BPE, Characters, Unigram
from tests.command import regard as command
from tests.helpers import patience

TEXT = "the cat sat on the mat, and it rained; näive cats don't mind.\n"
SIZES = {"width": 64, "layers": 2, "heads": 4}
LLAMA = {"position": Rotary(), "norm": RMSNorm(1e-5), "feed": SwiGLU(96), "bias": False, "tied": False}
SHAPES: dict[str, GPT] = {
    "llama": GPT(vocab=300, kv_heads=2, **SIZES, **LLAMA),
    "qwen2": GPT(vocab=300, query_bias=True, **SIZES, **LLAMA),
    "qwen3": GPT(vocab=300, head_size=32, query_norm=RMSNorm(1e-5), **SIZES, **LLAMA),
    "gpt2": GPT(vocab=300, position=Learned(64), feed=TanhGELU(), **SIZES),
}


def run_of(config: GPT, folder: Path, kind: Any = BPE(vocab=300)) -> Any:
    """A run with random weights, large enough that no two scores are close."""
    tokenizer = kind.train([TEXT * 4])
    config = GPT(**{**vars(config), "vocab": tokenizer.vocab})
    model = config.build()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=float("norm" in name and "weight" in name), std=0.1)
    save_run(folder, config, model, LanguageModel(length=64), tokenizer)
    return regard.load(folder)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 0.0), ("float16", 1e-3), ("bfloat16", 5e-3), ("q8_0", 1e-2)]
)
def test_the_file_holds_the_weights(dtype, tolerance, tmp_path):
    run = run_of(SHAPES["qwen3"], tmp_path / "run")
    export(run, GGUF(dtype=dtype), tmp_path / "model.gguf")
    reader = GGUFReader(tmp_path / "model.gguf")
    stored = {each.name: quants.dequantize(each.data, each.tensor_type) for each in reader.tensors}
    ours = run.model.state_dict()
    for theirs, name in {
        "token_embd.weight": "embedding.table.weight",
        "blk.1.attn_q.weight": "decoder.1.attend.query.weight",
        "blk.0.ffn_down.weight": "decoder.0.feed.down.weight",
    }.items():
        scale = np.abs(ours[name].numpy()).max()
        assert np.abs(stored[theirs] - ours[name].numpy()).max() <= tolerance * scale
    assert len(stored) == len(ours)


@pytest.mark.parametrize(
    ("shape", "kind"), [*((shape, BPE(vocab=300)) for shape in SHAPES), ("llama", Characters())], ids=str
)
def test_llama_cpp_writes_the_same_tokens(shape, kind, tmp_path):
    """llama.cpp comes in a wheel; it offers its own server, which is asked for tokens."""
    llama_cpp = pytest.importorskip("xllamacpp")
    run = run_of(SHAPES[shape], tmp_path / "run", kind)
    export(run, GGUF(), tmp_path / "model.gguf")
    settings = llama_cpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel, settings.warmup = (
        str(tmp_path / "model.gguf"),
        64,
        1,
        False,
    )
    settings.cache_type_k = settings.cache_type_v = llama_cpp.ggml_type.GGML_TYPE_F32
    server = llama_cpp.Server(settings)
    for text in ("the cat sat", "näive cats don't", " it rained;"):
        tokens = ask(server, "/tokenize", content=text, add_special=False)["tokens"]
        assert tokens == run.tokenizer.encode([text])[0]
    options = {
        "n_predict": 12,
        "temperature": 0,
        "samplers": ["temperature"],
        "return_tokens": True,
        "ignore_eos": True,
    }
    written = ask(server, "/completion", prompt=tokens, **options)["tokens"]
    state, read = run.model.init_state(), torch.tensor([tokens])
    ours = []
    for _ in range(12):
        with torch.no_grad():
            logits, state = run.model.step(read, state)
        ours.append(int(logits[0, -1].index_fill(0, torch.tensor(run.tokenizer.end), -torch.inf).argmax()))
        read = torch.tensor([ours[-1:]])
    assert written == ours


def ask(server: Any, path: str, **body: Any) -> dict[str, Any]:
    request = Request(server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=patience(60)) as answer:
        return dict(json.load(answer))


def test_a_part_without_counterpart_is_named(tmp_path, capsys):
    config = GPT(**{**vars(SHAPES["llama"]), "norm": GPT().norm})
    run_of(config, tmp_path / "run")
    assert command("export", tmp_path / "run", "--to", "gguf", "--out", tmp_path / "model.gguf") == 2
    assert "model.norm: LayerNorm" in capsys.readouterr().err
    run_of(SHAPES["llama"], tmp_path / "pieces", Unigram(vocab=60))
    assert command("export", tmp_path / "pieces", "--to", "gguf", "--out", tmp_path / "model.gguf") == 2
    assert "--data.tokenizer BPE" in capsys.readouterr().err
    assert command("export", tmp_path / "pieces", "--to", "gguf", "--out", tmp_path / "model") == 2
    assert "ends with .gguf" in capsys.readouterr().err
    assert command("export", tmp_path / "run", "--to", "onnx", "--dtype", "q8_0", "--out", tmp_path / "x") == 2
    assert "--dtype: is an option of --to gguf" in capsys.readouterr().err
    assert not [file for file in tmp_path.iterdir() if file.name not in ("run", "pieces")]
