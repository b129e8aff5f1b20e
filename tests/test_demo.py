"""The demo as a newcomer meets it, on the quick way; and what it must never do to other people's folders."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from rich.console import Console

import regard as package
from regard.demo import after, python
from regard.demo.tour import STEPS
from regard.tasks import load_run
from regard.view.session import Session
from tests.command import regard
from tests.helpers import patience


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Its folder and what it said."""
    out = tmp_path_factory.mktemp("home") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        output = Captured()
        patch.setattr(sys, "stdout", output)
        assert regard("demo", "--quick", "--out", out) == 0
    return out, output.text


class Captured:
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
    out, output = demo
    for words in ("random forest", "regard in_context", "Training rows with the largest weight", "What it looked at"):
        assert words in output
    for command in (f"regard view {out}", f"regard generate {out / 'python'}"):
        assert command in output
    assert "Traceback" not in output


def test_query_wines_are_not_among_the_training_rows(demo: tuple[Path, str]):
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


@pytest.mark.parametrize("screen", [True, False])
def test_a_person_at_a_terminal_is_served_the_page(screen: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    opened, served, console = [], [], Console(file=io.StringIO(), width=200)

    def serve(session: Session, place: socket.socket, host: str) -> None:
        served.append(([run.path.name for run in session.runs], place.getsockname()[1]))
        place.close()

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(after, "serve", serve)
    monkeypatch.setattr(after, "is_attended", lambda: True)
    monkeypatch.setattr(after, "has_screen", lambda: screen)
    runs = [tmp_path / name for name in STEPS]
    after.what_next(runs, 1.0, console, may_stay=True)
    [(names, port)] = served
    assert names == ["dates", "python", "wine"], "the example is the translator's"
    address = f"http://127.0.0.1:{port}/#text=am+3.+Oktober+1990"
    assert f"{'open' if screen else 'served'} at {address} (Ctrl-C ends it)" in console.file.getvalue()
    assert opened == ([address] if screen else [])
    after.what_next(runs, 1.0, console, may_stay=False)
    assert len(served) == 1, "a quick demo ends"


def test_at_a_real_terminal_without_a_display_the_address_answers_until_ctrl_c(tmp_path: Path):
    pty = pytest.importorskip("pty", reason="there are no terminals to imitate here")
    code = "import sys; from pathlib import Path; from rich.console import Console; from regard.demo import after; "
    code += "runs = [Path(name) for name in ('wine', 'dates', 'python')]; "
    code += "sys.exit(after.what_next(runs, 1.0, Console(), may_stay=True))"
    ours, theirs = pty.openpty()
    bare = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    process = subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, cwd=tmp_path, env=bare)
    os.close(theirs)
    try:
        output = b""
        while b"Ctrl-C" not in output:
            output += os.read(ours, 1000)
        address = re.search(rb"http://127[^\s#]+", output)
        assert address is not None
        assert "<title>" in ask(address[0].decode())
        process.send_signal(signal.SIGINT)
        assert process.wait(patience(60)) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def ask(address: str) -> str:
    """It may take a moment from the socket to what answers on it."""
    deadline = time.monotonic() + patience(60)
    while True:
        try:
            with urllib.request.urlopen(address, timeout=patience(60)) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.1)


def test_a_pipe_is_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(sys, "stdout", output := Captured())
    assert not after.is_attended()
    console = Console(file=output, width=200)
    assert after.what_next([tmp_path / name for name in STEPS], 1.0, console, may_stay=True) == 0
    assert f"regard view {tmp_path}" in output.text
    assert "http" not in output.text
