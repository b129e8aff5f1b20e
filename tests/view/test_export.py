"""The exported file holds all that it shows, and nothing in it can become a script; plots are files for papers."""

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.cli.view import runs_in
from regard.tasks.recording import ViewInput
from regard.view import export
from regard.view.export import export_page
from regard.view.open_run import OpenRun
from regard.view.page import page_files
from regard.view.plot import PlotRequest, draw_plot
from regard.view.session import Session
from tests.command import regard
from tests.view.conftest import Runs
from tests.view.studies import save_study

NASTY = '</script><script>alert(1)</script><!-- "&'


def kept(page: str) -> dict[str, object]:
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def test_a_file_holds_the_answers_under_the_paths_that_the_page_asks(runs: Runs) -> None:
    page = export_page(Session([OpenRun(runs["transformer"]), OpenRun(runs["gpt"])]), ViewInput("abc", "xy"))
    answers = kept(page)
    assert "api/recordings/0/head?attention=decoder.1.cross&head=1" in answers
    assert "api/recordings/0/alignment?attention=decoder.1.cross&head=0" in answers
    assert "api/recordings/0/alignment" in answers
    assert "api/recordings/1/overview" in answers
    assert "api/runs/1/training" in answers


def test_a_file_asks_nobody_and_runs_only_its_own_script(runs: Runs) -> None:
    page = export_page(Session([OpenRun(runs["gpt"])]), ViewInput(NASTY))
    assert kept(page)["api/runs/0/record"]["input"]["text"] == NASTY
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
    monkeypatch.setattr(export, "MAX_BYTES", 1000)
    assert regard("view", runs["gpt"], "--input", "a" * 60, "--export", tmp_path / "a.html") == 1
    assert "use a shorter input" in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists()


def test_the_command_writes_a_file(runs: Runs, tables: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    assert regard("view", runs["transformer"], "--input", "abc", "--export", tmp_path / "a.html") == 0
    assert f"wrote {tmp_path / 'a.html'}" in capsys.readouterr().err
    assert kept((tmp_path / "a.html").read_text())["api/runs/0/record"]["input"]["text"] == "abc"
    assert regard("view", tables[0], "--cell", "area=120", "--cell", "city=Paris", "--export", tmp_path / "t.html") == 0
    stored = kept((tmp_path / "t.html").read_text())["api/runs/0/record"]
    assert stored["input"]["row"] == {"area": "120", "city": "Paris"}
    assert stored["rows"]
    assert regard("view", tables[0], "--export", tmp_path / "first.html") == 0
    stored = kept((tmp_path / "first.html").read_text())
    begun = {column["name"]: column["value"] for column in stored["api/runs"]["runs"][0]["columns"]}
    assert stored["api/runs/0/record"]["input"]["row"] == begun, "a row that is known, as the served page begins"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a run folder"),
        (("nowhere",), "nowhere: no such run folder"),
        (("RUN", "--target", "x"), "--target: needs the --input"),
        (("RUN", "--cell", "area"), "--cell area: must be COLUMN=value"),
        (("RUN", "--cell", "a=1", "--input", "b"), "--cell and --input"),
        (("RUN", "--cell", "a=1"), "--cell: only for tables, and none of these runs is one"),
        (("RUN", "--host", "256.1.1.1"), "cannot listen"),
    ],
)
def test_mistakes_of_view_are_one_line(runs: Runs, capsys, words: tuple[str, ...], message: str) -> None:
    assert regard("view", *(runs["gpt"] if word == "RUN" else word for word in words)) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("transformer", ()),
        ("transformer", ("--picture", "alignment", "--attention", "decoder.1.cross", "--head", "1")),
        ("rnn-attention", ()),
        ("gpt", ()),
        ("gpt", ("--picture", "head", "--attention", "decoder.1.attend", "--head", "1")),
        ("gpt", ("--picture", "head", "--as", "lines")),
        ("gpt", ("--picture", "positions")),
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
    line = {"lr_multiplier": 1.0, "speed": 5.0, "seconds": 1.0}
    lines = [{"step": step, "loss": 3.0 / step, **line} for step in range(1, 9)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert regard("plot", run, "--out", tmp_path / "curves.svg") == 0
    assert "loss in nats" in (tmp_path / "curves.svg").read_text() or (tmp_path / "curves.svg").stat().st_size > 5000


def test_a_plot_of_a_head_as_lines_has_its_weights(runs: Runs) -> None:
    recording = OpenRun(runs["gpt"]).record(ViewInput("abcdef"))
    figure, _ = draw_plot(
        [OpenRun(runs["gpt"])], ViewInput("abcdef"), PlotRequest("head", "decoder.1.attend", 1, "lines")
    )
    weights = recording.map("decoder.1.attend").pattern[1]
    lines = [((line.get_ydata()[0], line.get_ydata()[1]), line.get_linewidth()) for line in figure.axes[0].lines]
    seen = {(query, key): float(weights[query, key]) for query, key in (weights >= 0.01).nonzero().tolist()}
    assert {place: (width - 0.4) / 4 for place, width in lines} == pytest.approx(seen)
    assert [word.get_text() for word in figure.axes[0].texts] == [*"abcdef"] * 2


def test_a_plot_of_positions_has_the_numbers_of_the_page(runs: Runs) -> None:
    shown = OpenRun(runs["transformer"])
    figure, _ = draw_plot([shown], None, PlotRequest("positions"))
    images = [axes.images[0] for axes in figure.axes if axes.images]
    picture = shown.positions()
    assert len(images) == len(picture) == 2
    for image, one in zip(images, picture, strict=True):
        there = np.frombuffer(base64.b64decode(one["map"]["values"]), "<f4")
        assert np.array_equal(np.asarray(image.get_array(), dtype="<f4").ravel(), there)


def test_a_plot_of_evidence_has_the_numbers_of_the_page(tables: tuple[Path, Path], tmp_path: Path) -> None:
    given = ViewInput(row={"area": "120", "city": "Paris"})
    rest = OpenRun(tables[0]).record(given)
    figure, explanation = draw_plot([OpenRun(tables[0])], given, PlotRequest())
    columns, rows = ([bar.get_width() for bar in axes.patches] for axes in figure.axes)
    assert columns == [100 * effect for _, effect in rest.columns]
    assert rows == [weight for _, weight, *_ in rest.rows]
    assert explanation == rest.summary
    words = ["--cell", "area=120", "--cell", "city=Paris", "--out", tmp_path / "a.png"]
    assert regard("plot", tables[0], *words) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_seeds_of_a_study_are_plotted_as_one_curve_with_a_band(runs: Runs, tmp_path: Path) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], ("base", "no-norm"))
    figure, _ = draw_plot([OpenRun(run) for run in runs_in(study)], None, PlotRequest())
    lines, bands = figure.axes[0].lines, figure.axes[0].collections
    assert [line.get_label() for line in lines] == ["base", "no-norm"]
    assert lines[0].get_ydata() == pytest.approx([1.5, 0.75, 0.5])
    assert lines[1].get_ydata() == pytest.approx([3, 1.5, 1])
    assert bands[0].get_paths()[0].vertices[:, 1].max() == 2
    assert [axes.get_title() for axes in figure.axes] == [
        "loss in nats",
        "learning rate",
        "speed, tokens or rows per second",
    ]
    assert figure.axes[1].lines[0].get_ydata() == pytest.approx([0.001] * 3)
    assert regard("plot", study, "--out", tmp_path / "a.svg") == 0


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("gpt", ("--input", "a", "--out", "a.gif"), "must end with one of .png, .svg, .pdf"),
        ("gpt", ("--input", "a", "--out", "no/a.png"), "no: no such folder"),
        ("gpt", ("--out", "a.png"), "no metrics logged yet"),
        ("gpt", ("--picture", "head", "--out", "a.png"), "--picture head: needs an input; give it with --input"),
        ("gpt", ("--input", " ", "--out", "a.png"), "--input: is empty"),
        ("gpt", ("--picture", "alignment", "--input", "a", "--out", "a.png"), "no alignment"),
        (
            "gpt",
            ("--picture", "head", "--attention", "de.9", "--input", "a", "--out", "a.png"),
            "de.9: no such attention",
        ),
        ("rnn", ("--picture", "overview", "--input", "a", "--out", "a.png"), "no attention to draw"),
        ("rnn", ("--picture", "positions", "--out", "a.png"), "has no position encoding"),
        ("gpt", ("--picture", "overview", "--as", "lines", "--input", "a", "--out", "a.png"), "--as lines: only for"),
        ("gpt", ("--picture", "head", "--as", "lines", "--input", "a" * 81, "--out", "a.png"), "draws up to 80 tokens"),
        ("gpt", ("--picture", "evidence", "--out", "a.png"), "needs a row; give its cells with --cell"),
        ("gpt", ("--picture", "evidence", "--input", "a", "--out", "a.png"), "--picture evidence: only for tables"),
        ("gpt", ("--cell", "a=1", "--out", "a.png"), "--cell: only for tables, and"),
        ("table", ("--input", "a", "--out", "a.png"), "is a table model; give it a row with --cell COLUMN=value"),
        ("table", ("--picture", "head", "--cell", "area=1", "--out", "a.png"), "use --picture evidence"),
        ("table", ("--cell", "size=1", "--out", "a.png"), "the table has no column 'size'"),
    ],
)
def test_mistakes_of_plot_are_one_line(
    runs: Runs,
    tables: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch,
    capsys,
    name: str,
    words: tuple[str, ...],
    message: str,
) -> None:
    run = tables[0] if name == "table" else runs[name]
    monkeypatch.chdir(tmp_path)
    assert regard("plot", run, *words) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_of_runs_stands_for_all_of_them(tmp_path: Path, runs: Runs) -> None:
    for name in ("gpt", "transformer"):
        (tmp_path / "several" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "several" / name).symlink_to(runs[name])
    assert regard("view", tmp_path / "several", "--export", tmp_path / "all.html") == 0
    shown = kept((tmp_path / "all.html").read_text())["api/runs"]["runs"]
    assert [Path(one["name"]).name for one in shown] == ["gpt", "transformer"]


def test_a_study_is_exported_though_its_weights_cannot_be_read(tmp_path: Path, runs: Runs) -> None:
    study = save_study(tmp_path / "study", runs["gpt"], ("base",))
    assert regard("view", study, "--export", tmp_path / "all.html") == 0
    answers = kept((tmp_path / "all.html").read_text())
    assert all("model.safetensors" in one["problem"] for one in answers["api/runs"]["runs"])
    assert answers["api/runs/1/training"]["curves"]["loss"]["values"] == [2, 1, 2 / 3]


def test_a_folder_without_any_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert regard("view", tmp_path, "--export", tmp_path / "all.html") == 1
    assert "not a run folder, and contains none" in capsys.readouterr().err
    assert not (tmp_path / "all.html").exists()
