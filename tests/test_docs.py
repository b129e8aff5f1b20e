"""The documents are taken at their word: what they show is run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_new_attention_is_one_file_and_one_name_in_a_union(tmp_path: Path):
    """Apply the worked example of docs/architecture.md to a copy, and run the contract tests on it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    for folder in ("regard", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
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
    added = [line[1:] for line in change.splitlines() if line.startswith("+")]
    [removed] = [line[1:] for line in change.splitlines() if line.startswith("-")]
    assert removed in text, f"the page shows a union that is not the package's: {removed}"
    text = text.replace(removed, added[-1])
    return text.replace("\nfrom ", f"\n{added[0]}\nfrom ", 1)


def test_every_link_in_the_documents_leads_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_tables_of_the_readme_are_those_of_the_results():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "readme.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
