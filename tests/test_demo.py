"""The demo as a newcomer meets it, on the quick way; and what it must never do to other people's folders."""

import socket
import sys
from pathlib import Path

import pytest

import regard as package
from regard.demo import after, python
from regard.demo.tour import STEPS
from regard.run import load_run
from regard.view.answers import Desk
from tests.command import regard


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Its folder and what it said."""
    out = tmp_path_factory.mktemp("home") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        told = Told()
        patch.setattr(sys, "stdout", told)
        assert regard("demo", "--quick", "--out", out) == 0
    return out, told.text


class Told:
    """A standard output that is no terminal."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def test_it_makes_three_runs_that_can_be_used(demo: tuple[Path, str], capsys: pytest.CaptureFixture[str]):
    out, _ = demo
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == sorted(STEPS)
    assert len(load_run(out / "dates").translate(["3 mai 2020"])) == 1
    assert len("".join(load_run(out / "python").generate("def ", 5))) >= 1
    assert regard("predict", out / "wine", out / "new_wines.csv") == 0
    assert capsys.readouterr().out.count("\n") == 8, "a header and seven wines"
    assert (out / "dates" / "alignment.png").is_file()


def test_it_shows_peers_evidence_alignment_and_what_to_type_next(demo: tuple[Path, str]):
    out, told = demo
    for words in ("random forest", "NPT in_context", "Known rows that it was told by", "What it looked at"):
        assert words in told
    for command in (f"regard view {out}", f"regard generate {out / 'python'}"):
        assert command in told
    assert "Traceback" not in told


def test_wines_that_are_asked_about_were_never_learned(demo: tuple[Path, str]):
    import pandas

    known, new = (pandas.read_csv(demo[0] / name) for name in ("wines.csv", "new_wines.csv"))
    assert len(known) + len(new) == 178
    assert not known.merge(new).shape[0]


def test_it_replaces_what_it_left_and_nothing_else(demo: tuple[Path, str], tmp_path: Path):
    from regard.core.errors import UserError
    from regard.demo.tour import refuse_other_folders

    refuse_other_folders(demo[0])
    refuse_other_folders(tmp_path / "new")
    refuse_other_folders(tmp_path)  # empty
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(UserError, match="not the demo's"):
        refuse_other_folders(tmp_path)
    with pytest.raises(UserError, match="is a file"):
        refuse_other_folders(tmp_path / "thesis.txt")


def test_the_text_is_bounded_the_same_each_time_and_plain():
    text = python.sources(20_000)
    assert len(text) == 20_000
    assert text == python.sources(20_000)
    assert text.isascii()
    assert text == python.sources(30_000)[:20_000]


def test_without_the_library_s_sources_it_reads_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(python.sysconfig, "get_path", lambda name: str(tmp_path))
    first = sorted(Path(package.__file__).parent.glob("*.py"))[0].read_text()
    assert python.sources(1_000) == first[:1_000]


def test_where_there_is_a_screen_the_page_is_opened_and_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from rich.console import Console

    opened, served = [], []

    def serve(desk: Desk, place: socket.socket, host: str) -> None:
        place.close()
        served.append([run.path.name for run in desk.runs])

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(after, "serve", serve)
    monkeypatch.setattr(after, "has_screen", lambda: True)
    runs = [tmp_path / name for name in STEPS]
    after.what_next(runs, 1.0, Console(quiet=True), may_stay=True)
    assert served == [["dates", "python", "wine"]], "the example is the translator's"
    assert opened[0].startswith("http://127.0.0.1:")
    assert opened[0].endswith("/#text=am+3.+Oktober+1990")
    after.what_next(runs, 1.0, Console(quiet=True), may_stay=False)
    assert len(served) == 1, "a quick demo ends"


def test_a_pipe_is_no_screen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(sys, "stdout", Told())
    assert not after.has_screen()
