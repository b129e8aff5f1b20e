"""GGUF files: read back by gguf's own reader, and by llama.cpp where it is installed, which writes the same tokens."""

from pathlib import Path
from typing import Any

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


@pytest.fixture(params=SHAPES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return run_of(SHAPES[request.param], tmp_path / "run")


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


def test_llama_cpp_writes_the_same_tokens(run, tmp_path):
    llama_cpp = pytest.importorskip("llama_cpp")
    export(run, GGUF(), tmp_path / "model.gguf")
    check_llama_cpp(llama_cpp, run, tmp_path / "model.gguf")


def test_llama_cpp_reads_characters(tmp_path):
    llama_cpp = pytest.importorskip("llama_cpp")
    run = run_of(SHAPES["llama"], tmp_path / "run", Characters())
    export(run, GGUF(), tmp_path / "model.gguf")
    check_llama_cpp(llama_cpp, run, tmp_path / "model.gguf")


def check_llama_cpp(llama_cpp: Any, run: Any, file: Path) -> None:
    exact = {"type_k": 0, "type_v": 0, "flash_attn": False}  # a cache in float32
    theirs = llama_cpp.Llama(str(file), n_ctx=64, logits_all=True, verbose=False, **exact)
    for text in ("the cat sat", "näive cats don't", " it rained;"):
        tokens = theirs.tokenize(text.encode(), add_bos=False)
        assert tokens == run.tokenizer.encode([text])[0]
    theirs.eval(tokens)
    with torch.no_grad():
        ours = run.model(torch.tensor([tokens]))[0]
    assert np.abs(np.array(theirs.scores[: len(tokens)]) - ours.numpy()).max() < 5e-3
    written = []
    for _ in range(12):
        written.append(int(np.argmax(theirs.scores[theirs.n_tokens - 1])))
        theirs.eval(written[-1:])
    state = run.model.init_state()
    given = torch.tensor([tokens])
    for token in written:
        with torch.no_grad():
            logits, state = run.model.step(given, state)
        assert int(logits[0, -1].argmax()) == token
        given = torch.tensor([[token]])


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
