"""A part of one's own is ablated by its name, without an entry in the table of changes."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.core.config import override
from regard.core.errors import ConfigError
from regard.parts import PostNorm, RMSNorm
from regard.studies.ablate.ablation import Ablation
from regard.studies.ablate.base import base_plan
from regard.studies.ablate.changes import applicable, choose_changes
from regard.studies.runner.folder import StudyFolder
from regard.tasks.plan import Plan
from tests.command import regard
from tests.studies.conftest import TINY

MODULE = """
from dataclasses import dataclass
from regard.parts import Full

@dataclass(frozen=True)
class HalfScale(Full):
    def build(self, heads, size):
        return Full(scale=0.5 * size**-0.5).build(heads, size)
"""


@dataclass(frozen=True)
class OwnNorm(RMSNorm):
    pass


def plan() -> Plan:
    return override(base_plan("lm", ("a.txt",), (), None, 1.0), {"model.vocab": 9})


@pytest.fixture
def own_attention(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "half_scale.py").write_text(MODULE)
    monkeypatch.setenv("REGARD_PARTS", "half_scale")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "half_scale", None)  # is gone after the test
    del sys.modules["half_scale"]
    return here


def test_an_own_attention_is_ablated_from_the_command_line(own_attention: Path):
    words = ["--task", "lm", "--data", "text.txt", "--out", "s", "--steps", 2, "--seeds", 1]
    assert regard("study", "ablate", *words, "--only", "no-norm,HalfScale", *TINY) == 0
    report = (own_attention / "s" / "report.md").read_text()
    assert "| HalfScale | HalfScale as attention |" in report
    assert "| no-norm |" in report
    folder = StudyFolder(own_attention / "s")
    assert type(folder.plan("HalfScale-0").model.attention).__name__ == "HalfScale"
    assert folder.outcome("HalfScale-0") != folder.outcome("base-0")


def test_a_part_takes_the_place_of_the_family_that_it_inherits_from():
    [change] = choose_changes(["OwnNorm"])
    changed, reason = applicable(plan(), change)
    assert changed is not None, reason
    assert changed.model.norm == OwnNorm()


def test_parts_of_the_library_have_names_too_and_typos_are_noticed():
    post, pre = (choose_changes([name])[0] for name in ("PostNorm", "PreNorm"))
    changed, _ = applicable(plan(), post)
    assert changed is not None
    assert changed.model.wiring == PostNorm()
    assert applicable(plan(), pre) == (None, "the base already has it")
    with pytest.raises(ConfigError, match="did you mean 'OwnNorm'"):
        Ablation(task="lm", data=("a.txt",), only=("OwnNorn",))
