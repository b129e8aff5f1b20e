"""The wheel, built and installed without a network: it holds all that is needed, and works by itself."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.documents.pages import ROOT, commands_of

pytest.importorskip("hatchling")
PAGE = "docs/files.md"
WEIGHTS = "regard/tables/weights/model.safetensors"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
OFFLINE = ["--quiet", "--no-index"]


def done(words: list[object], **more: object) -> str:
    """What a command says; it must succeed."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)  # type: ignore[call-overload]
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the command of the page, from what is installed here."""
    out = tmp_path_factory.mktemp("wheel")
    [command] = [one for one in commands_of(PAGE) if one.words[:2] == ("pip", "wheel")]
    words = [out if word == command.option("--wheel-dir") else word for word in command.words[1:]]
    done([*PIP, *words, *OFFLINE, "--no-build-isolation"], cwd=ROOT)
    [result] = out.glob("regard-*.whl")
    return result


def test_it_holds_weights_page_and_entry_and_no_more_than_the_package(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert "regard = regard.cli:main" in entry
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "regard").rglob("*") if path.is_file()}
    package = {name for name in package if "__pycache__" not in name}
    assert {name for name in names if ".dist-info" not in name} == package
    assert {WEIGHTS, "regard/view/page/index.html", "regard/py.typed"} <= names


def test_its_size_and_that_of_the_weights_are_what_the_documents_say(wheel: Path):
    page = " ".join((ROOT / PAGE).read_text().split())
    stated = re.search(r"It is ([\d.]+) MB, of which ([\d.]+) MB are the weights", page)
    assert stated is not None
    for path, size in ((wheel, stated[1]), (ROOT / WEIGHTS, stated[2])):
        assert path.stat().st_size / 1e6 == pytest.approx(float(size), abs=0.1), path.name


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it, which sees the libraries of this one and nothing else of it.

    The wheel comes first: pip would take a package that it sees for one to replace.
    """
    place = tmp_path_factory.mktemp("fresh") / "venv"
    done([sys.executable, "-m", "venv", "--without-pip", place])
    done([*PIP, "--python", place / "bin" / "python", "install", "--no-deps", "--no-compile", *OFFLINE, wheel])
    [own] = (place / "lib").glob("python*/site-packages")
    libraries = [folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")]
    (own / "libraries.pth").write_text("".join(f"{folder}\n" for folder in libraries))
    return place


def test_it_works_where_it_is_installed(place: Path, tmp_path: Path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{n % 7},{'ab'[n % 7 > 3]}\n" for n in range(40)))
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def regard(*words: str) -> str:
        return done([place / "bin" / "regard", *words], cwd=tmp_path, env=alone)

    result = json.loads(regard("doctor", "--json"))
    assert f"in {place}" in result["regard"]["message"], "it is this one that runs"
    assert f"in {place}" in result["weights"]["message"]
    assert {one["state"] for one in result.values()} <= {"ok", "hint"}
    regard("fit", "t.csv", "--target", "y", "--out", "run", "--mode", "in_context")
    assert regard("predict", "run", "t.csv").count("\n") == 41
