"""Optional dependencies: what is missing is named in one line, with its group; a base install does the main jobs."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from regard.core.errors import UserError
from regard.core.extras import GROUPS, PACKAGES, available, require
from tests.command import regard
from tests.documents.pages import ROOT

SMALL = ("--model.layers", "1", "--model.width", "16", "--model.heads", "2", "--steps", "2")
OPTIONAL = [module for modules in GROUPS.values() for module in modules]
# Runs several commands, one line of JSON each, in a process that cannot import what is optional.
BASE_INSTALL = f"""
import json, sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
from regard.cli import main
for line in sys.stdin:
    try:
        main(json.loads(line))
    except SystemExit as ended:
        if ended.code:
            raise
"""


def test_the_groups_are_those_of_the_project_file() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for group, modules in GROUPS.items():
        packages = {package.split(">=")[0] for package in declared[group]}
        assert packages == {PACKAGES.get(module, module) for module in modules}
    assert declared["all"] == [f"regard[{','.join(sorted(GROUPS))}]"]
    assert "regard[all]" in declared["dev"]


def block(monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    for module in GROUPS[group]:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    ("group", "packages"),
    [
        ("files", "python-calamine and openpyxl and odfpy and duckdb"),
        ("images", "pillow"),
        ("metrics", "sacrebleu and rouge-score"),
        ("plot", "matplotlib"),
        ("proteins", "gemmi"),
        ("view", "fastapi and uvicorn"),
    ],
)
def test_what_is_missing_is_named_with_its_group(group: str, packages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require(group, "this")
    assert available(group)
    block(monkeypatch, group)
    assert not available(group)
    with pytest.raises(UserError) as caught:
        require(group, "this")
    assert str(caught.value) == f"this needs {packages}: pip install 'regard[{group}]'"


def test_view_without_fastapi_says_what_to_install(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    block(monkeypatch, "view")
    for name in ("regard.view.routes", "regard.view.server"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert regard("view", tmp_path) == 1
    assert capsys.readouterr().err.endswith("regard view needs fastapi and uvicorn: pip install 'regard[view]'\n")
    assert regard("view", tmp_path, "--export", tmp_path / "a.html") == 0
    assert (tmp_path / "a.html").exists()


def test_plot_and_study_without_matplotlib_stop_before_any_work(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    block(monkeypatch, "plot")
    for words in (
        ("plot", tmp_path, "--out", tmp_path / "a.png"),
        ("study", "distance", "--out", tmp_path / "study"),
    ):
        assert regard(*words) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith("needs matplotlib: pip install 'regard[plot]'")
    assert not (tmp_path / "study").exists()


def test_images_without_pillow(tmp_path, monkeypatch, capsys) -> None:
    for label in "ab":
        (tmp_path / "images" / label).mkdir(parents=True)
        for number in range(12):
            (tmp_path / "images" / label / f"{number}.png").write_bytes(b"")
    block(monkeypatch, "images")
    monkeypatch.delitem(sys.modules, "regard.data.images.pillow", raising=False)
    assert regard("train", "image", "--train", tmp_path / "images", "--out", tmp_path / "run") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "regard: reading images needs pillow: pip install 'regard[images]'"


def test_a_base_install_trains_predicts_and_writes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{n % 7},{'ab'[n % 7 > 3]}\n" for n in range(40)))
    (tmp_path / "t.txt").write_text("the cat sat on the mat. " * 200)
    (tmp_path / "l.tsv").write_text("".join(f"{'good' if n % 2 else 'bad'}\ttext number {n}\n" for n in range(80)))
    (tmp_path / "p.tsv").write_text("".join(f"number {n}\tnummer {n}\n" for n in range(80)))
    commands = [
        ["--help"],
        ["doctor", "--json"],
        ["fit", "t.csv", "--target", "y", "--out", "table", "--mode", "in_context"],
        ["predict", "table", "t.csv"],
        ["train", "lm", "--data", "t.txt", "--out", "lm", "--data.length", "16", *SMALL],
        ["generate", "lm", "--prompt", "the", "--max-tokens", "3"],
        ["train", "classify", "--train", "l.tsv", "--out", "classify", *SMALL],
        ["train", "translate", "--train", "p.tsv", "--valid", "p.tsv", "--out", "translate", *SMALL],
    ]
    ended = subprocess.run(
        [sys.executable, "-c", BASE_INSTALL],
        input="".join(json.dumps(words) + "\n" for words in commands),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("drawing the losses needs matplotlib: pip install 'regard[plot]'") == 3
    assert (
        "no BLEU: scoring translations needs sacrebleu and rouge-score: pip install 'regard[metrics]'" in ended.stderr
    )
    for name in ("lm", "classify", "translate"):
        assert (tmp_path / name / "card.md").exists()
        assert not (tmp_path / name / "loss.png").exists()
    ended = subprocess.run(
        [sys.executable, "-c", BASE_INSTALL],
        input=json.dumps(["evaluate", "translate", "p.tsv"]),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        "regard: scoring translations needs sacrebleu and rouge-score: pip install 'regard[metrics]'\n"
    )
