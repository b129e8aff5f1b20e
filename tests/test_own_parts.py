"""Parts that somebody else wrote, outside the package: in Python, on the command line, and where they do not fit."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError
from regard.data.text.dates import Dates
from regard.interop import export_huggingface
from regard.models import GPT
from regard.parts import Attention, Full, Learned
from regard.tasks import load_run, save_run
from regard.tasks.plan import Plan
from regard.tasks.training import train
from regard.tasks.translate.recipe import dates
from tests.command import regard

TINY = [
    "--steps=1",
    "--data.length=16",
    "--training.batch_size=2",
    "--model.width=16",
    "--model.heads=2",
    "--model.layers=1",
]
MODULE = """
from dataclasses import dataclass
from regard.parts import Full

@dataclass(frozen=True)
class Sharper(Full):
    times: float = 2.0

    def build(self, heads, size):
        return Full(scale=self.times * size**-0.5).build(heads, size)
"""


@dataclass(frozen=True)
class Louder(Full):
    times: float = 2.0

    def build(self, heads: int, size: int):
        return Full(scale=self.times * size**-0.5).build(heads, size)


def small_plan(attention: object) -> Plan:
    plan = dates()
    model = replace(plan.model, width=16, heads=2, layers=1, attention=attention)
    training = replace(plan.training, steps=1, batch_size=4)
    return replace(plan, data=Dates(train=20, valid=4, test=4), model=model, training=training)


def test_a_subclass_is_a_variant():
    assert from_dict(Attention, {"kind": "Louder", "times": 3}) == Louder(times=3.0)
    assert from_dict(Attention, to_dict(Louder())) == Louder()
    with pytest.raises(ConfigError, match=r"unknown key 'tines'; did you mean 'times'\?"):
        from_dict(Attention, {"kind": "Louder", "tines": 3})


def test_the_name_of_a_variant_or_of_another_part_is_refused():
    with pytest.raises(ConfigError, match=r"Window: regard\.parts\.attention\.window has a part of this name; choose"):

        @dataclass(frozen=True)
        class Window(Full):
            pass

    with pytest.raises(ConfigError, match=r"Louder: tests\.test_own_parts has a part of this name"):
        dataclass(frozen=True)(type("Louder", (Full,), {"__module__": "elsewhere"}))
    assert type(from_dict(Attention, "Window")).__module__.startswith("regard.")


def test_a_class_that_is_defined_again_replaces_itself():
    """As in a notebook, where a cell is run twice."""
    made = [dataclass(frozen=True)(type("Twice", (Full,), {"__module__": "notebook"})) for _ in range(2)]
    assert type(from_dict(Attention, "Twice")) is made[1]


def test_a_run_with_a_part_of_ones_own_is_trained_and_read(tmp_path: Path):
    train(small_plan(Louder(times=3.0)), tmp_path / "own")
    assert load_run(tmp_path / "own").config.attention == Louder(times=3.0)


STRANGER = """
from dataclasses import dataclass, replace
from pathlib import Path
from regard.parts import Full
from regard.tasks.training import train
from regard.tasks.translate.recipe import dates

@dataclass(frozen=True)
class Stranger:
    hides_future = takes_bias = cross_attention = True

    def build(self, heads, size):
        return Full().build(heads, size)

plan = dates()
train(replace(plan, model=replace(plan.model, attention=Stranger())), Path("own"))
"""


def test_a_part_that_could_not_be_read_again_is_refused_before_training(tmp_path: Path):
    """In a process of its own: here every type is checked, and where users are none is."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command_words = [sys.executable, "-c", STRANGER]
    output = subprocess.run(
        command_words, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    ).stderr
    assert "unknown kind 'Stranger'" in output
    assert output.rstrip().endswith("a part of your own must inherit from the one whose place it takes")
    assert not (tmp_path / "own").exists()


def test_it_is_not_exported_as_what_it_inherits_from(tmp_path: Path):
    config = GPT(vocab=9, width=16, heads=2, layers=1, position=Learned(16), attention=Louder())
    save_run(tmp_path / "run", config, config.build())
    with pytest.raises(ConfigError, match="Louder, a part of your own, cannot be stored"):
        export_huggingface(load_run(tmp_path / "run"), tmp_path / "out")


def command(*words: object, parts: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "REGARD_PARTS": parts, "PYTHONPATH": str(Path(__file__).parents[1])}
    line = [sys.executable, "-m", "regard", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, env=environment, check=False)


def test_the_command_line_imports_what_the_user_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("sharper.py").write_text(MODULE)
    Path("text.txt").write_text("to be or not to be\n" * 40)
    words = ["train", "lm", "--data", "text.txt", "--out", "own", "--model.attention", "Sharper", *TINY]
    monkeypatch.setenv("REGARD_PARTS", "sharper")
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the command adds this folder
    assert regard(*words) == 0
    assert command("generate", "own", "--max-tokens", "3", parts="sharper").returncode == 0
    without = command("generate", "own", "--max-tokens", "3", parts="")
    assert without.returncode == 2
    assert "unknown kind 'Sharper'" in without.stderr
    assert "REGARD_PARTS names modules to import" in without.stderr
    wrong = command("show", "own", parts="shaper")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("regard: REGARD_PARTS: shaper cannot be imported (ModuleNotFoundError")
    assert len(wrong.stderr.splitlines()) == 1
