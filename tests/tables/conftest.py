"""Tables are tested with a tiny network of random weights in place of the shipped one: contracts need no knowledge."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml

from regard.core import tensors
from regard.core.config import from_dict, to_dict
from regard.models import InContext
from regard.parts.feed import SquaredReLU
from regard.store import CONFIG, WEIGHTS, read_config
from regard.tables.network import pretrained

REAL = pretrained.FOLDER


def write_tiny_reader(folder: Path, seed: int = 0) -> Path:
    config = InContext(
        width=32, layers=2, heads=2, cell_width=16, cell_heads=2, thinking_rows=4, feed=SquaredReLU(hidden=32)
    )
    return _write(config, folder, seed)


def write_small_reader(folder: Path) -> Path:
    """With all parts of the shipped network, fewer and smaller ones: for commands that are to run, not to know."""
    config = from_dict(InContext, read_config(REAL)["model"], "model")
    small = {"width": 32, "layers": 2, "heads": 2, "cell_width": 16, "cell_heads": 2}
    return _write(replace(config, **small, feed=SquaredReLU(hidden=32)), folder)


def _write(config: InContext, folder: Path, seed: int = 0) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = config.build()
        for parameter in model.parameters():  # what begins with zeros would hide a mistake
            torch.nn.init.normal_(parameter, std=0.2)
    tensors.save(folder / WEIGHTS, model.state_dict())
    (folder / CONFIG).write_text(yaml.safe_dump({"model": to_dict(config)}))
    return folder


@pytest.fixture(scope="session")
def tiny_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_reader(tmp_path_factory.mktemp("weights"))


@pytest.fixture(autouse=True)
def _shipped(tiny_reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "FOLDER", tiny_reader)


@pytest.fixture
def real_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights that come with the package, for tests of what they know."""
    if not (REAL / WEIGHTS).exists():
        pytest.skip("the weights that come with the package are not here yet")
    monkeypatch.setattr(pretrained, "FOLDER", REAL)
