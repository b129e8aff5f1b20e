"""The example of images as rows runs, and attends to the labels that it may see."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

PATH = Path(__file__).parents[2] / "examples" / "npt_images.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("npt_images", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_runs(example: ModuleType, capsys: pytest.CaptureFixture):
    accuracy = example.main(["--steps", "2", "--rows", "20", "--width", "8"])
    assert 0 <= accuracy <= 1
    assert "with 20 labelled digits as context" in capsys.readouterr().out


def test_a_hidden_label_is_hidden_and_a_known_one_is_seen_by_others(example: ModuleType):
    npt = example.NPT(categories=(0,) * example.PATCHES + (10,), width=8, layers=2, heads=2, dropout=0.0)
    model = example.ImagesAsRows(npt).eval()
    images, labels, hidden = torch.randn(5, 1, 8, 8), torch.arange(5), torch.tensor([True, False, False, False, True])
    scores = model(images, labels, hidden)
    torch.testing.assert_close(model(images, labels.clone().index_fill_(0, torch.tensor([0, 4]), 9), hidden), scores)
    other = model(images, labels.clone().index_fill_(0, torch.tensor([1]), 9), hidden)
    assert not torch.allclose(other[0], scores[0])
