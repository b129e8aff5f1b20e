"""Every recipe as it comes, exported to ONNX, run by onnxruntime alone: the answers are those of the run."""

import inspect
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.decode import Sampling
from regard.export import onnx
from regard.export.graphs import Graph
from regard.export.onnx import write_graph
from regard.tasks.summarise.selector import Selector
from tests.export.runs import RECIPES, train

TEXTS = ["the cat sat", "it", "the dog <s> rained on the mat and on"]
INPUTS: dict[str, list[Any]] = {
    "fill": ["the [MASK] sat on the[MASK]", "[MASK]", "it [MASK] [MASK] mat"],
    "tag": ["Ada met Grace.", "she", "Rome, it's said, wasn't built in 3.14 days"],
}


def answers(run: Any, recipe: str, inputs: list[Any]) -> list[Any]:
    """Of the run itself, greedily."""
    if recipe == "lm":
        return run(inputs, max_tokens=8, sampling=Sampling(temperature=0))
    more = {"max_tokens": 8} if recipe.startswith(("translate", "summarise")) else {}
    return run(inputs, **more)


def written_by_default(run: Any) -> int:
    method = {"lm": "generate"}.get(run.task.verb, run.task.verb)
    return inspect.signature(getattr(type(run.task), method)).parameters["max_tokens"].default


@pytest.mark.parametrize("recipe", RECIPES)
def test_onnxruntime_answers_as_the_run_does(recipe, tmp_path):
    run = regard.load(train(recipe, tmp_path))
    with torch.no_grad():  # two steps leave a model that answers the same to everything
        for parameter in run.model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    out = tmp_path / "onnx"
    regard.export.export(run, regard.export.ONNX(), out)
    script = runpy.run_path(str(out / "predict.py"))
    inputs = (
        [*map(str, sorted((tmp_path / "photos").rglob("*.png")))] if recipe == "image" else INPUTS.get(recipe, TEXTS)
    )
    more = {"max_tokens": 8} if "max_tokens" in script["SETTINGS"] else {}
    assert not more or script["SETTINGS"]["max_tokens"] == written_by_default(run), "as the run, whose choices it makes"
    assert script["predict"](inputs, **more) == answers(run, recipe, inputs)
    if "probabilities" in script:
        ours = run.label_probabilities(inputs)[1].numpy()
        assert np.abs(script["probabilities"](inputs) - ours).max() < 1e-5
    assert {file.name for file in out.iterdir()} >= {"README.md", "regard.json"}
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".part")]


def test_an_exported_summariser_says_what_the_network_writes_or_a_span(tmp_path, monkeypatch):
    """Which of both is a setting beside the graphs, which are those of one network: they are made once."""
    written = {}

    def write_once(graph: Graph, file: Path) -> None:
        if graph.name not in written:
            write_graph(graph, file)
            written[graph.name] = file.read_bytes()
        file.write_bytes(written[graph.name])

    monkeypatch.setattr(onnx, "write_graph", write_once)
    run = regard.load(train("summarise", tmp_path))
    texts, answers = ["ein Hund schläft", "zwei", "eine Katze, zwei Hunde"], []
    for number, choice in enumerate((Selector(), Selector(constant=0.0))):
        chooses = replace(run, task=replace(run.task, choice=choice))
        regard.export.export(chooses, regard.export.ONNX(), tmp_path / str(number))
        script = runpy.run_path(str(tmp_path / str(number) / "predict.py"))
        answers.append(script["predict"](texts, 8))
        assert answers[-1] == chooses.summarise(texts, max_tokens=8)
        assert (script["write"](texts, 8)[1] > 0).all()
        assert (script["write"](texts, 8)[1] <= 1).all()
    assert answers[0] != answers[1]
