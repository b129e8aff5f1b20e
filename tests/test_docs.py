"""The documents are taken at their word: what they show is run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_a_new_attention_is_one_file_and_one_name_in_a_union(tmp_path: Path):
    """Apply the worked example of docs/architecture.md to a copy, and run the contract tests on it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    for folder in ("regard", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder)  # with the byte code, which then need not be made
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    page = page[page.index("## Worked example: a new attention") : page.index("## Worked example: a new task")]
    [(place, code)] = re.findall(r"```python new-file=(\S+)\n(.*?)```", page, re.DOTALL)
    (tmp_path / place).write_text(code)
    [change] = re.findall(r"```diff\n(.*?)```", page, re.DOTALL)
    union = tmp_path / "regard" / "parts" / "attention" / "__init__.py"
    union.write_text(apply(change, union.read_text()))

    words = ["-m", "pytest", "-p", "no:cacheprovider", "tests/parts/test_attention.py", "-k", "Angle"]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout + " 0 passed")[1]) > 20  # type: ignore[index]
    trains = "from regard.models import GPT; from regard.parts.attention.angle import Angle; "
    trains += "import torch; GPT(vocab=5, attention=Angle()).build()(torch.zeros(1, 3).long())"
    assert subprocess.run([sys.executable, "-c", trains], cwd=tmp_path).returncode == 0


def apply(change: str, text: str) -> str:
    """Lines that start with - make way for those with + that follow; a + by itself goes to the other imports."""
    imported, *added = [line[1:] for line in change.splitlines() if line.startswith("+")]
    [removed] = [line[1:] for line in change.splitlines() if line.startswith("-")]
    assert removed in text, f"the page shows a union that is not the package's: {removed}"
    text = text.replace(removed, "\n".join(added))
    return text.replace("\nfrom ", f"\n{imported}\nfrom ", 1)


def test_a_new_task_is_one_folder_one_name_in_a_union_and_one_verb(tmp_path: Path):
    """Apply the worked example of docs/architecture.md to a copy; train, use and evaluate it on the command line."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    page = page[page.index("## Worked example: a new task") : page.index("## Documents that cannot lie")]
    shutil.copytree(ROOT / "regard", tmp_path / "regard")
    files = re.findall(r"```python new-file=(\S+)\n(.*?)```", page, re.DOTALL)
    assert {Path(place).parent.as_posix() for place, _ in files} == {"regard/tasks/rate"}, "one new folder"
    for place, code in files:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(code)
    changes = re.findall(r"in `(regard/[^`]+\.py)`:\n\n```diff\n(.*?)```", page, re.DOTALL)
    assert [place for place, _ in changes] == ["regard/tasks/union.py", "regard/cli/verbs.py"]
    for place, change in changes:
        (tmp_path / place).write_text(apply(change, (tmp_path / place).read_text()))

    lines = [f"{1 + number % 5}\t{'good ' * (number % 5)}film {number}" for number in range(60)]
    (tmp_path / "stars.tsv").write_text("label\ttext\n" + "\n".join(lines) + "\n")
    small = ["--steps=3", "--model.width=16", "--model.layers=1"]
    train = ["train", "rate", "--train", "stars.tsv", "--valid", "stars.tsv", "--out", "runs/stars", *small]
    evaluation, usage = ["evaluate", "runs/stars", "stars.tsv"], ["--help"]
    _, number, scores, help_text = typed(tmp_path, [train, ["rate", "runs/stars"], evaluation, usage], "a good film\n")
    assert float(number) == pytest.approx(3, abs=20)
    assert "rmse: " in scores
    assert "rate" in help_text


# Several commands in one process, which imports everything once; each has the same standard input.
TYPED = """
import contextlib, io, json, sys
from regard.cli import main

commands, given = json.load(sys.stdin)
outputs = []
for words in commands:
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main(words)
        except SystemExit as stop:
            assert not stop.code, (words, stop.code)
    outputs.append(printed.getvalue())
print(json.dumps(outputs))
"""


def typed(folder: Path, commands: list[list[str]], given: str) -> list[str]:
    """What each command prints, with the package in `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", TYPED],
        cwd=folder,
        input=json.dumps([commands, given]),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    outputs: list[str] = json.loads(done.stdout)
    return outputs


def test_every_link_in_the_documents_leads_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_tables_of_the_readme_are_those_of_the_results():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "readme.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
