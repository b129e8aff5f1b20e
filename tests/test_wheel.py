"""The wheel, built without a network: it holds all that is needed, and works from where it is unpacked."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    words = ["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "-w", out, ROOT]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [found] = out.glob("regard-*.whl")
    return found


def test_it_holds_weights_page_and_entry_and_no_more_than_the_package(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert "regard = regard.cli:main" in entry
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "regard").rglob("*") if path.is_file()}
    package = {name for name in package if "__pycache__" not in name}
    assert {name for name in names if ".dist-info" not in name} == package
    assert {"regard/tables/weights/model.safetensors", "regard/view/page/index.html"} <= names


def test_its_size_is_what_the_documents_say(wheel: Path):
    said = re.search(r"The wheel is ([\d.]+) MB", (ROOT / "docs" / "files.md").read_text())
    assert said is not None
    assert wheel.stat().st_size / 1e6 == pytest.approx(float(said[1]), abs=0.2)


def test_it_works_where_it_is_unpacked(wheel: Path, tmp_path: Path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{n % 7},{'ab'[n % 7 > 3]}\n" for n in range(40)))
    alone = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "regard", *words]
        done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = json.loads(run("doctor", "--json"))
    assert str(tmp_path / "site" / "regard") in found["regard"]["told"], "it is this one that runs"
    assert {one["state"] for one in found.values()} <= {"ok", "hint"}
    run("fit", "t.csv", "--target", "y", "--out", "run", "--mode", "in_context")
    assert run("predict", "run", "t.csv").count("\n") == 41
