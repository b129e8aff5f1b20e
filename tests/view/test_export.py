"""The exported file holds all that it shows, and nothing in it can become a script; plots are files for papers."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from regard.view import export
from regard.view.answers import Desk
from regard.view.export import export_page
from regard.view.page import page_files
from regard.view.recording import Given
from regard.view.shown import Shown
from tests.command import regard
from tests.view.conftest import Runs

NASTY = '</script><script>alert(1)</script><!-- "&'


def kept(page: str) -> dict[str, object]:
    [data] = re.findall(r'<script type="application/json" id="kept">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def test_a_file_holds_the_answers_under_the_paths_that_the_page_asks(runs: Runs) -> None:
    page = export_page(Desk([Shown(runs["transformer"]), Shown(runs["gpt"])]), Given("abc", "xy"))
    answers = kept(page)
    assert "api/recordings/0/head?look=decoder.1.cross&head=1" in answers
    assert "api/recordings/0/alignment?look=decoder.1.cross&head=0" in answers
    assert "api/recordings/0/alignment" in answers
    assert "api/recordings/1/overview" in answers
    assert "api/runs/1/training" in answers


def test_a_file_asks_nobody_and_runs_only_its_own_script(runs: Runs) -> None:
    page = export_page(Desk([Shown(runs["gpt"])]), Given(NASTY))
    assert kept(page)["api/runs/0/record"]["given"]["text"] == NASTY
    assert len(re.findall("<script", page)) == 2
    assert "<script>alert" not in page
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    [script] = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy
    assert not re.search(r'(src|href)="(?!data:,|#view)', page)


def test_the_page_names_no_other_machine() -> None:
    for name, data in page_files().items():
        for address in re.findall(rb"https?://[^\s\"'`]+", data):
            assert address == b"http://www.w3.org/2000/svg", name  # a name of SVG, which nobody fetches
        if name.endswith(".js"):
            markup = rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
            assert not re.search(markup, data), name


def test_a_file_too_large_to_open_is_not_written(runs: Runs, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(export, "LARGEST", 1000)
    assert regard("view", runs["gpt"], "--input", "a" * 60, "--export", tmp_path / "a.html") == 1
    assert "give a shorter input" in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists()


def test_the_command_writes_a_file(runs: Runs, tables: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    assert regard("view", runs["transformer"], "--input", "abc", "--export", tmp_path / "a.html") == 0
    assert f"wrote {tmp_path / 'a.html'}" in capsys.readouterr().out
    assert kept((tmp_path / "a.html").read_text())["api/runs/0/record"]["given"]["text"] == "abc"
    assert regard("view", tables[0], "--cell", "area=120", "--cell", "city=Paris", "--export", tmp_path / "t.html") == 0
    found = kept((tmp_path / "t.html").read_text())["api/runs/0/record"]
    assert found["given"]["row"] == {"area": "120", "city": "Paris"}
    assert found["rows"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name a run folder"),
        (("nowhere",), "nowhere: there is no such run folder"),
        (("RUN", "--target", "x"), "--target: is what was written for an --input"),
        (("RUN", "--cell", "area"), "--cell area: must be COLUMN=value"),
        (("RUN", "--cell", "a=1", "--input", "b"), "--cell and --input"),
        (("RUN", "--cell", "a=1"), "--cell: is for tables, and none of these runs holds one"),
        (("RUN", "--host", "256.1.1.1"), "cannot be served"),
    ],
)
def test_mistakes_of_view_are_one_line(runs: Runs, capsys, words: tuple[str, ...], told: str) -> None:
    assert regard("view", *(runs["gpt"] if word == "RUN" else word for word in words)) in (1, 2)
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("transformer", ()),
        ("transformer", ("--picture", "alignment", "--look", "decoder.1.cross", "--head", "1")),
        ("rnn-attention", ()),
        ("gpt", ()),
        ("gpt", ("--picture", "head", "--look", "decoder.1.attend", "--head", "1")),
    ],
)
def test_plots_of_an_input(runs: Runs, tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    assert regard("plot", runs[name], "--input", "price $5 & $6", *words, "--out", tmp_path / "a.png") == 0
    with Image.open(tmp_path / "a.png") as image:
        colours = image.convert("RGB").getcolors(2**24)
    assert colours is not None
    assert len(colours) > 20  # something is drawn
    assert regard("plot", runs[name], "--input", "price $5 & $6", *words, "--out", tmp_path / "a.svg") == 0
    assert regard("plot", runs[name], "--input", "price $5 & $6", *words, "--out", tmp_path / "b.svg") == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_plots_of_several_runs_and_of_training(runs: Runs, tmp_path: Path) -> None:
    two = runs["transformer"], runs["rnn-attention"]
    assert regard("plot", *two, "--input", "abc", "--out", tmp_path / "both.pdf") == 0
    assert (tmp_path / "both.pdf").read_bytes().startswith(b"%PDF")
    run = tmp_path / "run"
    run.mkdir()
    line = {"rate_share": 1.0, "speed": 5.0, "seconds": 1.0}
    lines = [{"step": step, "loss": 3.0 / step, **line} for step in range(1, 9)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert regard("plot", run, "--out", tmp_path / "curves.svg") == 0
    assert "loss, nats" in (tmp_path / "curves.svg").read_text() or (tmp_path / "curves.svg").stat().st_size > 5000


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("gpt", ("--input", "a", "--out", "a.gif"), "must end with one of .png, .svg, .pdf"),
        ("gpt", ("--input", "a", "--out", "no/a.png"), "no: there is no such folder"),
        ("gpt", ("--out", "a.png"), "has logged nothing yet"),
        ("gpt", ("--picture", "head", "--out", "a.png"), "needs a text to look at"),
        ("gpt", ("--input", " ", "--out", "a.png"), "--input: needs a text to look at"),
        ("gpt", ("--picture", "alignment", "--input", "a", "--out", "a.png"), "no alignment"),
        ("gpt", ("--picture", "head", "--look", "de.9", "--input", "a", "--out", "a.png"), "de.9: there is no such"),
        ("rnn", ("--picture", "overview", "--input", "a", "--out", "a.png"), "no attention to draw"),
    ],
)
def test_mistakes_of_plot_are_one_line(
    runs: Runs, tmp_path: Path, monkeypatch, capsys, name: str, words: tuple[str, ...], told: str
) -> None:
    run = runs[name]
    monkeypatch.chdir(tmp_path)
    assert regard("plot", run, *words) in (1, 2)
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_of_runs_stands_for_all_of_them(tmp_path: Path, runs: Runs) -> None:
    for name in ("gpt", "transformer"):
        (tmp_path / "several" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "several" / name).symlink_to(runs[name])
    assert regard("view", tmp_path / "several", "--export", tmp_path / "all.html") == 0
    shown = kept((tmp_path / "all.html").read_text())["api/runs"]["runs"]
    assert [Path(one["name"]).name for one in shown] == ["gpt", "transformer"]


def test_a_folder_without_any_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert regard("view", tmp_path, "--export", tmp_path / "all.html") == 1
    assert "is no run folder and holds none" in capsys.readouterr().err
    assert not (tmp_path / "all.html").exists()
