"""What people read about tables: numbers written in one way, each line once, and refusals before any work."""

import io
import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console

import regard
from regard.cli import interrupted
from regard.core.errors import ConfigError
from regard.tables import NPTAnomalies, NPTImputer, NPTRegressor, retarget
from regard.tables.column_drift import _moments
from regard.tables.data_checks import check_training_data
from regard.tables.distillation.distil import Comparison
from regard.tables.distillation.rendering import distillation_grid
from regard.tables.encode.columns import Columns
from regard.tables.estimators.parameters import check_parameters
from regard.tables.fitting import fit_problems
from regard.tables.plain_numbers import plain_number
from regard.tables.report.formats import cell_text
from regard.tables.report.warnings import cells_of
from regard.train.signals import StopRequest
from tests.command import regard as command

QUICK = ("--mode", "in_context")


@pytest.fixture
def flats(tmp_path: Path) -> Path:
    """Prices of seven digits, doubtful dates, a column that is always 1, and names."""
    random = np.random.default_rng(0)
    area = random.uniform(40, 200, 60).round(1)
    frame = pd.DataFrame({
        "area": area, "one": 1, "who": [f"W{row:02}" for row in range(60)],
        "hired": pd.date_range("2020-01-01", periods=60, freq="MS").strftime("%d/%m/%Y"),
        "price": (area * 10_000 + random.normal(size=60)).round(2), "rooms": (area / 30).round(2),
    })  # fmt: skip
    frame.to_csv(tmp_path / "flats.csv", index=False)
    return tmp_path / "flats.csv"


@pytest.fixture
def run(flats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert command("fit", flats, "--target", "price", "--ignore", "who", "--out", tmp_path / "run", *QUICK) == 0
    capsys.readouterr()
    return tmp_path / "run"


def test_a_table_says_once_how_it_is_read(flats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pd.DataFrame({"d": ["03/04/2024"] * 30, "a": np.arange(30) / 7, "b": np.arange(30) / 3}).to_csv(flats, index=False)
    assert command("fit", flats, "--target", "a", "b", "--out", tmp_path / "y", *QUICK) == 0
    assert capsys.readouterr().err.count("is taken for") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "classify"), "'price' has 60 distinct numbers, which are no classes; leave out --task classify"),
        (("--kind", "price=category"), "which are no classes; leave out --kind price=category"),
        (("--cost", "1:20"), "--cost 1:20: is for a target with two classes"),
        (("--time", "who"), "--time who: holds no dates and no numbers, but 'W00'"),
    ],
)
def test_what_the_target_rules_out_is_refused_first(
    options: tuple[str, ...], message: str, flats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert command("fit", flats, "--target", "price", "--out", tmp_path / "x", *options) == 2
    answer = capsys.readouterr()
    assert f"regard: {flats}: " in answer.err
    assert message in answer.err
    assert not answer.out


def test_an_ignored_column_cannot_be_predicted_and_says_why(run: Path, flats: Path, capsys: pytest.CaptureFixture[str]):
    assert command("predict", run, flats, "--target", "who") == 2
    assert "'who' was ignored in the fit" in capsys.readouterr().err
    model = NPTRegressor(mode="in_context", members=1).fit(
        pd.DataFrame({"a": [1.0, 2, 3], "b": [3.0, 1, 2]}), [1, 2, 3]
    )
    with pytest.raises(ConfigError, match="have no column 'c'"):
        retarget(model, "c")


def test_numbers_are_written_alike(run: Path, flats: Path, capsys: pytest.CaptureFixture[str]):
    assert command("explain", run, flats, "--row", "0") == 0
    out = capsys.readouterr().out
    largest = pd.read_csv(flats)["price"]
    known = [line.split()[2] for line in out.splitlines() if line.split()[1:2] and line.split()[1].endswith("%")]
    assert known
    assert set(known) <= {plain_number(price, 7) for price in largest.astype("float32").astype(float)}
    assert _moments(np.array([126.0, 126.2]), np.array([1400.0, 1400.4])) == "mean 126 → 1,400"
    scores = {"rmse": 63224.6, "mae": 40000.0, "r2": 0.98}
    console = Console(width=120, file=io.StringIO())
    console.print(distillation_grid(Comparison("price", 60, scores, scores, scores, 1.0, 0.1, 0.5, True), "tree"))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "63,220" in shown
    assert "e+0" not in shown
    columns = Columns.fit(pd.DataFrame({"price": [180_861.24, 2_004_097.42], "year": [1900, 2023]}))
    assert [column.summary for column in columns.columns] == ["180861 to 2004100", "1900 to 2023"]
    assert cell_text(2_004_097.42) == "2004097"


def test_evaluate_says_how_many_rows_are_inside_their_interval(run: Path, flats: Path, capsys):
    assert command("evaluate", run, flats) == 0
    out = capsys.readouterr().out
    assert "coverage_90: " in out
    assert "e+0" not in out
    assert command("evaluate", run, flats, "--json") == 0
    scores, frame = json.loads(capsys.readouterr().out), pd.read_csv(flats)
    low, high = regard.load(run).predict(frame, quantiles=[0.05, 0.95]).T
    assert scores["coverage_90"] == pytest.approx(((low <= frame["price"]) & (frame["price"] <= high)).mean())


def test_a_constant_is_written_alike_in_the_report():
    frame = pd.DataFrame({"one": [1] * 60, "word": ["a"] * 60})
    columns = Columns.fit(frame)
    expected = ["'one' is constant (1)", "'word' is constant (a)"]
    assert check_training_data(columns, frame) == expected
    assert check_training_data(columns, cells_of(columns, torch.from_numpy(columns.encode(frame).values))) == expected


def test_one_row_is_one_row(run: Path, flats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pd.read_csv(flats).head(1).to_csv(tmp_path / "new.csv", index=False)
    assert command("predict", run, tmp_path / "new.csv", "--out", tmp_path / "out.csv") == 0
    assert capsys.readouterr().err.endswith("out.csv: 1 row\n")


def test_an_interrupted_fit_has_written_nothing(
    flats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("regard.tables.fitting.fit_problems", stop)
    assert fit_problems is not stop
    assert command("fit", flats, "--target", "price", "--out", tmp_path / "x") == 130
    assert capsys.readouterr().err.endswith("regard: interrupted; nothing was written\n")
    with StopRequest(saved=False) as request:
        request._hear(signal.SIGINT, None)
    assert "stopping after this step; a second signal ends at once" in capsys.readouterr().err
    before = interrupted.outputs(["fit", "t.csv", f"--out={tmp_path / 'x'}"])
    assert interrupted.interrupted(before) == "interrupted; nothing was written"
    (tmp_path / "x").mkdir()
    assert interrupted.interrupted(before) == "interrupted"
    assert interrupted.interrupted(interrupted.outputs(["predict", "run", "t.csv"])) == "interrupted"
    assert interrupted.interrupted(interrupted.outputs(["train", "lm", "--out", "x"])) == "interrupted"


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (NPTRegressor, {"time_limit": "60"}, "time_limit: must be a number of seconds, not '60'"),
        (NPTRegressor, {"time_limit": 0}, "time_limit: must be more than 0 seconds, not 0"),
        (NPTRegressor, {"members": "8"}, "members: must be a whole number, not '8'"),
        (NPTImputer, {"members": 1.5}, "members: must be a whole number, not 1.5"),
        (NPTAnomalies, {"members": "1"}, "members: must be a whole number, not '1'"),
    ],
)
def test_a_parameter_of_another_type_is_refused_in_fit(kind: type, changed: dict, message: str):
    estimator = kind().set_params(**changed)  # types of arguments are checked in tests alone
    with pytest.raises(ValueError, match=message):
        estimator.fit(pd.DataFrame({"a": [1.0, 2, 3], "b": [3.0, 1, 2]}), [1, 2, 3])
    check_parameters(np.int64(4), np.float32(1.5))
