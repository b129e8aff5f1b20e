"""Programs of torch.export: what they compute for any batch and length is what the model computes."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.core.errors import ConfigError, UserError
from regard.export import Torch, export, format_names, named_format
from regard.export.graphs import Graph, model_graphs, trace
from regard.models import GPT, ClassifierHead, RNNClassifier, Transformer
from regard.parts import (
    GRU,
    BigramEmbedding,
    EmbeddingSkip,
    RMSNorm,
    Window,
)
from tests.command import regard as command
from tests.export.runs import train
from tests.helpers import close

SMALL = {"width": 16, "layers": 1, "heads": 2}
MODELS: dict[str, Any] = {
    "GPT": GPT(vocab=11, bigram=BigramEmbedding(), norm=RMSNorm(), embedding_skip=EmbeddingSkip(), kv_heads=1, **SMALL),
    "RNNClassifier": RNNClassifier(vocab=11, width=8, cell=GRU(), head=ClassifierHead(labels=3, pooling="max")),
    "Transformer": Transformer(vocab=11, decoder_layers=2, kv_heads=1, **SMALL),
}
SIZES = (
    {"batch": 1, "sequence": 5, "past": 0, "total": 5, "source": 1},
    {"batch": 3, "sequence": 1, "past": 6, "total": 7, "source": 4},
)


def given(graph: Graph, sizes: dict[str, int]) -> list[torch.Tensor]:
    """Random inputs of these sizes; of masks the first row hides its last place."""
    tensors = []
    for name, each in graph.inputs.items():
        shape = [sizes[each.axes[axis]] if axis in each.axes else size for axis, size in enumerate(each.example.shape)]
        tensor = torch.randn(shape) if each.example.is_floating_point() else torch.randint(0, 11, shape)
        if name.endswith("mask"):
            tensor = torch.ones_like(tensor)
            tensor[0, -1] = shape[1] == 1
        tensors.append(tensor)
    return tensors


@pytest.mark.parametrize("name", MODELS)
def test_any_batch_and_length(name):
    model = MODELS[name].build().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    for graph in model_graphs(model):
        program = trace(graph).module()
        for sizes in SIZES:
            inputs = given(graph, sizes)
            with torch.no_grad():
                ours, theirs = graph.module(*inputs), program(*inputs)
            close(theirs, ours) if isinstance(ours, torch.Tensor) else [
                close(*pair) for pair in zip(theirs, ours, strict=True)
            ]


def test_steps_with_a_cache_are_one_pass():
    """The graph of a language model, step by step and on the right of padding, gives what the model gives at once."""
    model = MODELS["GPT"].build().eval()
    [graph] = model_graphs(model)
    tokens = torch.randint(0, 11, (2, 7))
    empty = [torch.zeros(2, *each.example.shape[1:])[:, :, :0] for each in list(graph.inputs.values())[3:]]
    with torch.no_grad():
        logits, *past = graph.module(tokens[:, :4], torch.ones(2, 4).long(), torch.arange(4).expand(2, -1), *empty)
        rest, *_ = graph.module(tokens[:, 4:], torch.ones(2, 7).long(), torch.arange(4, 7).expand(2, -1), *past)
        close(torch.cat([logits, rest], 1), model(tokens))
        shown = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1] * 7])
        places = (shown.cumsum(1) - 1).clamp(min=0)
        padded, *_ = graph.module(tokens, shown, places, *empty)
        close(padded[:1, 2:], model(tokens[:1, 2:]))
        close(padded[1:], model(tokens[1:]))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("classify", tmp_path_factory.mktemp("classify"))


def test_a_run_is_a_folder_of_programs(classifier, tmp_path, capsys):
    run = classifier
    assert command("export", run, "--to", "torch", "--out", tmp_path / "out") == 0
    assert "torch.export.load" in capsys.readouterr().out
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "README.md", "model.pt2", "ngrams.npz", "ngrams.py", "regard.json", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    loaded, tokens = torch.export.load(tmp_path / "out" / "model.pt2").module(), torch.randint(0, 9, (4, 6))
    with torch.no_grad():
        close(loaded(tokens, torch.ones_like(tokens)), regard.load(run).model(tokens))
    assert command("export", run, "--to", "torch", "--out", tmp_path / "out") == 1
    assert "already exists" in capsys.readouterr().err


def test_a_failed_export_leaves_nothing(classifier, tmp_path, monkeypatch):
    run = regard.load(classifier)

    def fails(*_: Any) -> None:
        raise UserError("no")

    monkeypatch.setattr("regard.export.graphs.trace", fails)
    with pytest.raises(UserError, match="no"):
        export(run, Torch(), tmp_path / "out")
    assert not [file for file in tmp_path.iterdir() if "out" in file.name]


def test_a_sparse_attention_has_no_graph():
    with pytest.raises(ConfigError, match=r"--model\.attention Full"):
        model_graphs(GPT(vocab=11, attention=Window(reach=4), **SMALL).build())


def test_names_of_formats():
    assert named_format("torch") == Torch()
    assert set(format_names()) >= {"gguf", "huggingface", "onnx", "torch"}
    with pytest.raises(ConfigError, match="onnx"):
        named_format("onxx")
