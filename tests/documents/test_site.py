"""The site: it is built without a complaint, holds every page and the sources they name, and loads nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site import source, with_sources
from tests.documents.pages import ROOT, pages

pytest.importorskip("mkdocs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    words = ["-m", "mkdocs", "build", "--quiet", "--site-dir", out, "--config-file", ROOT / "mkdocs.yml"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there_and_in_the_menu(site: Path):
    menu = (site / "index.html").read_text()
    for page in pages():
        if page.startswith("docs/"):
            name = page.removeprefix("docs/").replace("README.md", "index.html").replace(".md", ".html")
            assert (site / name).is_file(), name
            assert f'href="{name}"' in menu or name == "index.html", f"{name} is not in the menu"
    assert not list(site.glob("**/*.py")), "scripts stay at home"


def test_a_page_shows_the_source_that_it_names(site: Path):
    page = (site / "mechanisms" / "attention.html").read_text()
    shown = re.sub(r"<[^>]+>", "", page)  # without the colours
    assert "def watch(" in shown
    assert "pattern.to(v.dtype) @ v, pattern" in shown
    assert "full.py)" not in page


def test_the_reference_lists_settings_with_defaults_and_comments(site: Path):
    page = re.sub(r"<[^>]+>", "", (site / "reference" / "parts.html").read_text())
    assert "BigBird: a window, a few global blocks" in page, (
        "a class without a docstring has the first line of its file"
    )
    assert re.search(r"block\s+int\s+64\s+tokens to a block", page)
    assert "Train a plan" in (site / "reference" / "regard.html").read_text()


def test_a_page_loads_nothing_from_elsewhere(site: Path):
    for page in site.glob("**/*.html"):
        for address in re.findall(r'(?:src|href)="(https?://[^"]+)"', page.read_text()):
            assert "mkdocs.org" in address, f"{page}: {address}"  # the name of the builder, which is only a link


def test_pictures_are_those_that_the_pages_show(site: Path):
    for page in site.glob("**/*.html"):
        for picture in re.findall(r'<img[^>]+src="([^"]+)"', page.read_text()):
            assert (page.parent / picture).is_file(), f"{page}: {picture}"


def test_a_source_is_found_by_its_name_with_its_decorators():
    text = "@mark\nclass A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
    assert source("A.f", text) == "def f(self):\n    return 1"
    assert source("A", text) == text.rstrip()
    assert source("a.py", text) == text.rstrip()
    with pytest.raises(ValueError, match="unpack"):
        source("A.h", text)


def test_links_out_of_the_documents_become_words_and_others_stay():
    assert with_sources("see [it](../../regard/x.md) and [that](../y.md)", "jobs/a.md") == "see it and [that](../y.md)"


def test_what_was_measured_is_what_is_measured():
    """The figures on the pages are seeded and need seconds: they must come out again."""
    import json

    from docs.measured import HERE, measure

    kept, result = json.loads(HERE.read_text()), measure()
    assert kept.keys() == result.keys()
    for name, curves in result.items():
        for what, values in curves.items():
            assert values == pytest.approx(kept[name][what], rel=0.05, abs=3e-3), f"{name}, {what}"
