"""Every recipe as it comes, exported to ONNX, run by onnxruntime alone: the answers are those of the run."""

import runpy
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.decode import Sampling
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
    assert script["predict"](inputs, **more) == answers(run, recipe, inputs)
    if "probabilities" in script:
        ours = run.label_probabilities(inputs)[1].numpy()
        assert np.abs(script["probabilities"](inputs) - ours).max() < 1e-5
    assert {file.name for file in out.iterdir()} >= {"README.md", "regard.json"}
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".part")]
