"""`regard bench` with small sizes: what is measured, in which units, beside whom; never how fast."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from rich.console import Console

import regard.bench.serve
from regard.bench import Figure, Measurement, busy, choose, measurement, measurements, run, sizes
from regard.bench.rendering import lines, screen
from regard.bench.workplace import compile_for, llama, parameters_of, workplace
from regard.core.errors import ConfigError
from regard.decode.one_token import library
from tests.bench.small import SMALL
from tests.command import regard as command


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary folders are below the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def measured(name: str) -> Measurement:
    result = run((name,), SMALL, 1)[0]
    assert result.name == name
    assert all(figure.value > 0 for figure in result.figures)
    return result


def units(result: Measurement) -> dict[str, str]:
    return {figure.what: figure.unit for figure in result.figures}


def test_the_machine():
    expected = {"memory, read": "GB/s", "matrix products, float32": "GFLOP/s", "matrix products, bfloat16": "GFLOP/s"}
    assert units(measured("machine")) == expected


def test_training_says_whether_it_was_compiled():
    result = measured("train")
    assert list(units(result).values()) == ["tokens/s"]
    assert "eager" in result.figures[0].what
    assert "1 × 256 tokens" in result.about


def test_decoding_beside_the_libraries_that_are_installed():
    result = measured("decode")
    whats = [
        f"{texts}, {precision}" for texts in ("1 text", "2 texts") for precision in ("float32", "bfloat16", "int8")
    ]
    assert units(result) == dict.fromkeys(whats, "tokens/s")
    for figure in result.figures:
        assert figure.memory is not None
        assert figure.memory > 0
    peers = {name: {one.what for one in result.figures if name in one.peers} for name in ("transformers", "llama.cpp")}
    if measurement.importable("transformers"):
        assert peers["transformers"] == {what for what in whats if "int8" not in what}
    if measurement.importable("xllamacpp") and measurement.importable("gguf"):
        assert peers["llama.cpp"] == set(whats)
    assert result.notes == ()


def test_tables():
    result = measured("tables")
    assert units(result) == {"fit 20 × 3, predict 5": "s", "predict 5 rows": "rows/s"}
    names = {name for name in ("CatBoost", "LightGBM") if measurement.importable(name.lower())}
    assert all(set(figure.peers) == names for figure in result.figures)


def test_serving():
    pytest.importorskip("fastapi")
    assert units(measured("serve")) == {"1 client": "tokens/s", "2 clients": "tokens/s"}


def test_without_the_extra_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(regard.bench.serve, "available", lambda group: False)
    result = measured("serve")
    assert result.figures == ()
    assert "pip install 'regard[serve]'" in result.notes[0]


def test_libraries_that_are_missing_are_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measurement, "importable", lambda module: False)
    for name in ("decode", "tables"):
        result = measured(name)
        assert all(not figure.peers for figure in result.figures)
        assert result.notes == ()


def test_a_library_that_fails_is_named_and_the_rest_is_measured():
    def fail() -> dict[str, measurement.Job]:
        raise RuntimeError("no such\ninstruction")

    peers = {
        "broken": measurement.Peer(("json",), fail),
        "absent": measurement.Peer(("no_such_module",), fail),
        "works": measurement.Peer(("no_such_module", "json"), lambda: {"a": int}),
    }
    jobs, notes = measurement.peer_jobs(peers)
    assert jobs == {("a", "works"): int}
    assert notes == ("broken is left out: no such instruction",)


def test_all_take_turns_and_the_first_round_is_not_counted(monkeypatch: pytest.MonkeyPatch):
    clock, done = [0.0], []
    monkeypatch.setattr(measurement.time, "perf_counter", lambda: clock[0])

    def job(name: str, seconds: list[float]) -> measurement.Job:
        def work() -> None:
            done.append(name)
            clock[0] += seconds.pop(0)

        return work

    medians = measurement.median_seconds({"a": job("a", [9, 1, 2, 6]), "b": job("b", [0, 5, 5, 4])}, 3)
    assert medians == {"a": 2, "b": 5}
    assert done == ["a", "b"] * 4


def test_a_ratio_is_how_many_times_as_fast_regard_is():
    assert Figure("a", 30.0, "tokens/s", {"other": 10.0}).ratio("other") == 3
    assert Figure("a", 2.0, "s", {"other": 5.0}).ratio("other") == 2.5


def test_a_line_names_unit_share_and_ratio():
    figure = Figure("1 text, int8", 1234.5, "tokens/s", {"other": 617.25}, memory=0.5)
    result = Measurement("decode", "a model", (figure,), ("third is left out",))
    assert list(lines(result)) == [
        "decode: a model",
        "decode: 1 text, int8: 1,234 tokens/s, 50% of the memory bandwidth, 2× the speed of other (617 tokens/s)",
        "decode: third is left out",
    ]
    console = Console(width=80, file=io.StringIO())
    console.print(screen(result))
    page = console.file.getvalue().splitlines()
    assert [line.split() for line in page] == [
        ["decode:", "a", "model"],
        ["regard", "memory", "other"],
        ["1", "text,", "int8", "1,234", "tokens/s", "50%", "617", "(2×)"],
        ["third", "is", "left", "out"],
    ]


def test_a_busy_machine_is_one_warning(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.bench.measurements.usable_cores", lambda: 4)
    assert busy(None) is None
    assert busy(2.0) is None
    assert "load average 2.1 on 4 cores" in str(busy(2.1))


def test_names_are_chosen_once_and_in_order():
    assert choose(()) == ("machine", "train", "decode", "serve", "tables")
    assert choose(("tables", "decode", "tables")) == ("decode", "tables")
    with pytest.raises(ConfigError, match="decoed: no such measurement; did you mean 'decode'"):
        choose(("decoed",))


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["tabels"], 2, "tabels: no such measurement; did you mean 'tables'?"),
        (["machine", "--rounds", "0"], 2, "--rounds: must be at least 1, not 0"),
        (["machine", "--json", "."], 1, ".: is not a file"),
        (["machine", "--json", "nowhere/a.json"], 1, "there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_line(words: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]):
    assert command("bench", *words) == code
    captured = capsys.readouterr()
    assert expected in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_json_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sizes, "FULL", SMALL)
    file = tmp_path / "bench.json"
    assert command("bench", "tables", "machine", "--rounds", "1", "--json", file) == 0
    document = json.loads(file.read_text())
    assert list(document["measurements"]) == ["machine", "tables"]
    assert document["rounds"] == 1
    assert document["measurements"]["machine"]["figures"][0]["unit"] == "GB/s"
    assert capsys.readouterr().out.startswith("machine: ")
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"], "nothing else is left"
    file.unlink()

    def interrupted(*_: object) -> Measurement:
        raise KeyboardInterrupt

    monkeypatch.setitem(measurements.MEASUREMENTS, "tables", interrupted)
    assert command("bench", "machine", "tables", "--rounds", "1", "--json", file) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_a_trace(number: signal.Signals, tmp_path: Path):
    words = [
        sys.executable,
        "-m",
        "regard",
        "bench",
        "machine",
        "--rounds",
        "100000",
        "--json",
        str(tmp_path / "a.json"),
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob("regard-bench-*")):
            assert process.poll() is None
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_variables_are_as_before_and_small_models_are_not_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(library.VARIABLE, "mine")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    before = dict(os.environ)
    config = llama(64, 64, 1, 320)
    with workplace() as folder:
        assert library.folder() == folder / "steps"
        assert not compile_for(config, ("float32",))
        assert list(folder.iterdir()) == []
    assert dict(os.environ) == before
    assert not folder.exists()
    assert parameters_of(config) == sum(one.numel() for one in config.build().parameters())
    assert torch.get_default_device().type == "cpu"
