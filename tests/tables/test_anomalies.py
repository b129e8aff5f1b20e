"""Anomalies: distributions by brute force, columns and rows that are scored, and the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from regard.core.errors import ConfigError
from regard.tables import NPTAnomalies
from regard.tables.anomalies.columns import Levels, role_of
from regard.tables.anomalies.report import _sentence
from regard.tables.anomalies.scoring import VERY_SURPRISING, CellScorer, Scored, pulled_in
from regard.tables.anomalies.surprise import (
    QuantileLaw,
    level_surprise,
    number_surprise,
    resolution_of,
    unseen_probability,
)
from tests.command import regard as command

LEVELS = torch.arange(1, 34).double() / 34


def table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.normal(size=rows).round(2)
    return pd.DataFrame({
        "id": [f"r{number}" for number in range(rows)],
        "a": a,
        "b": (2 * a + 0.1 * rng.normal(size=rows)).round(2),
        "c": np.where(a > 0, "up", "down"),
        "same": 5,
        "nothing": np.nan,
    })  # fmt: skip


@given(arrays(np.float64, (2, 33), elements=st.floats(-100, 100)), st.floats(0.01, 5))
def test_a_law_of_quantiles_is_a_distribution(quantiles, resolution):
    law = QuantileLaw.of(torch.from_numpy(quantiles), resolution)
    places = torch.linspace(-300, 300, 999).double().expand(2, -1)
    less, more = law.tails(places)
    assert (less.diff() >= -1e-12).all()
    assert (less + more - 1).abs().max() < 1e-9
    assert (law.mass(places) > 0).all()


def test_the_mass_of_all_numbers_is_one():
    law = QuantileLaw.of(torch.tensor([[0.0, 1.0, 1.0, 1.0, 2.0, 4.0]]), 1.0)
    whole = torch.arange(-5000, 5000).double()[None]
    assert law.mass(whole).sum().item() == pytest.approx(1.0, abs=1e-6)
    assert law.mass(whole).argmax() == 5001  # the number that three quantiles are equal to


def test_cells_of_noise_are_as_surprising_as_expected():
    quantiles = torch.from_numpy(norm.ppf(LEVELS.numpy())).repeat(5000, 1)
    law = QuantileLaw.of(quantiles, 0.01)
    numbers = torch.from_numpy(np.random.default_rng(0).normal(size=5000))
    assert abs(number_surprise(law, law, numbers).mean().item()) < 0.1
    inside = numbers.abs() < 1.5
    density = -np.log2(norm.pdf(numbers.numpy()) * 0.01)
    own = -law.mass(numbers[:, None]).log2()[:, 0].numpy()
    assert own[inside] == pytest.approx(density[inside], abs=0.25)


def test_surprise_grows_with_the_distance_but_is_bounded():
    law = QuantileLaw.of(torch.from_numpy(norm.ppf(LEVELS.numpy())).repeat(5, 1), 0.01)
    bits = number_surprise(law, law, torch.tensor([0.0, 3.0, 30.0, 3e3, 3e6]))
    assert (bits.diff() > 0).all()
    assert 2 < bits[1] < 12 < bits[3] < bits[4] < 130


def test_levels_by_hand():
    probabilities = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]]).double()
    frequencies = torch.tensor([0.5, 0.5])
    bits = level_surprise(probabilities, frequencies, torch.tensor([0, 1, -1]), unseen=1e-9)
    assert bits[0].item() == pytest.approx(0.0, abs=1e-6)
    mixed = np.array([0.99 * 0.9 + 0.005, 0.99 * 0.1 + 0.005])
    expected = -np.log2(mixed[1]) + (mixed * np.log2(mixed)).sum()
    assert bits[1].item() == pytest.approx(expected, abs=1e-6)
    assert bits[2] > 20


def test_levels_that_occur_once_make_another_one_likely():
    assert unseen_probability(torch.tensor([0] * 50 + [1] * 49)) == pytest.approx(0.005)
    assert unseen_probability(torch.arange(100)) == 0.5


@pytest.mark.parametrize(
    ("numbers", "resolution"), [([1, 2, 4, 9], 1.0), ([0.5, 1.0, 7.5], 0.5), ([3, 3], 1.0), ([0, 1e-9, 1, 2], 1.8e-4)]
)
def test_the_resolution_of_a_column(numbers, resolution):
    assert resolution_of(torch.tensor(numbers, dtype=torch.double)) == pytest.approx(resolution, rel=0.3)


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("name", [f"x{number * 7}" for number in range(60)], "key"),
        ("row", range(60), "key"),
        ("customer_id", np.random.default_rng(0).permutation(60) * 13, "key"),
        ("price", np.random.default_rng(0).permutation(60) * 13, "numbers"),
        ("note", [f"she said {number} and left for {number * 3} good" for number in range(60)], "key"),
        ("note", [f"{a} of {b} went home" for a in ("Ann", "Bob", "Cy") for b in "abcdefghijklmnopqrst"], "text"),
        ("flag", [0, 1] * 30, "levels"),
        ("same", [2.5] * 60, "levels"),
        ("size", np.linspace(0, 1, 60), "numbers"),
        ("day", pd.date_range("2024-01-01", periods=60), "numbers"),
        ("void", [None] * 60, "empty"),
    ],
)
def test_roles_of_columns(name, cells, role):
    assert role_of(name, pd.Series(list(cells), name=name)) == role


def test_codes_of_levels():
    levels = Levels.of(torch.tensor([3.0, 1.0, 3.0, torch.nan]))
    assert levels.codes(torch.tensor([1.0, 3.0, 2.0, 9.0])).tolist() == [0, 1, -1, -1]


def test_a_row_is_never_its_own_evidence(monkeypatch: pytest.MonkeyPatch):
    frame = pd.concat([table(), table().iloc[:5]], ignore_index=True).drop(columns="id")  # with repeated rows
    seen = []
    from regard.tables.anomalies import scoring

    class Watched(scoring.InContextPredictor):
        def predict(self, values):
            known = {row.tobytes() for row in self.table.values.nan_to_num(9.5).numpy()}
            seen.append([row.tobytes() in known for row in values.nan_to_num(9.5).numpy()])
            return super().predict(values)

    monkeypatch.setattr(scoring, "InContextPredictor", Watched)
    frame["unique"] = [*range(100, 160), *range(100, 105)]  # so that rows are equal only if they are repeated
    detector = NPTAnomalies(random_state=0, kinds={"unique": "number"}).fit(frame)
    others = [flags for flags in seen if len(flags)]
    assert len(others) >= 9
    others = [flag for flags in others for flag in flags]
    # Where the number of its own is the target, other cells may be equal by chance; elsewhere they never are.
    assert sum(others) <= 0.1 * len(others)
    again = detector.score_samples(frame.iloc[[3, 61, 20]])
    assert again == pytest.approx(-detector.training_.total[[3, 61, 20]], abs=1e-4)


def test_missing_cells_of_a_full_column_are_surprising():
    frame = table()
    frame.loc[7, "b"] = np.nan
    detector = NPTAnomalies(random_state=0).fit(frame)
    cells = detector.explain(frame.iloc[[7]], top=4)[0].set_index("column")
    rate = 1.5 / 61
    entropy = -(rate * np.log2(rate) + (1 - rate) * np.log2(1 - rate))
    assert cells.loc["b", "surprise"] == pytest.approx(-np.log2(rate) - entropy)
    assert pd.isna(cells.loc["b", "expected"])


def test_another_value_in_a_constant_column_is_surprising():
    known = table()[["id", "a", "same"]]
    detector = NPTAnomalies(random_state=0, contamination=0.1).fit(known)
    new = known.iloc[[3, 3]].reset_index(drop=True)
    new.loc[1, "same"] = 6
    usual, unusual = detector.score_samples(new)
    assert unusual < usual
    named = detector.explain(new)[1].iloc[0]
    assert (named["column"], named["expected"]) == ("same", 5)
    assert named["surprise"] > 5
    assert (detector.predict(known) == -1).sum() == 6


def test_few_numbers_far_from_all_others_are_pulled_in():
    numbers = torch.arange(100).double()
    assert torch.equal(pulled_in(numbers), numbers)
    pulled = pulled_in(torch.cat([numbers, torch.tensor([1e6, -1e6]).double()]))
    assert torch.equal(pulled[:100], numbers)
    assert pulled[100] < 300
    assert pulled[101] > -200
    heavy = torch.logspace(0, 6, 101).double()
    assert (pulled_in(heavy) == heavy).sum() == 100  # a column whose numbers are often far is left as it is


def test_a_very_surprising_cell_is_hidden_when_others_are_judged():
    asked = []

    class Watched(CellScorer):
        def __init__(self):
            self.columns = [Scored("a", "numbers", (0, 1)), Scored("b", "numbers", (2,))]

        def _score_column(self, column, values, folds):
            asked.append((column.name, values.tolist(), folds.tolist()))
            return np.full((len(values), 5), -1.0)

    parts = np.zeros((3, 2, 5))
    parts[1, 0, 0] = VERY_SURPRISING + 1
    parts[2, 1, 0] = VERY_SURPRISING - 1
    Watched()._hide_surprising(parts, torch.arange(9.0).reshape(3, 3), torch.tensor([0, 1, 0]))
    ((name, (row,), folds),) = asked
    assert (name, np.isnan(row).tolist(), row[2], folds) == ("b", [True, True, False], 5, [1])
    assert parts[1, 1, 0] == -1
    assert parts[1, 0, 0] == VERY_SURPRISING + 1


@pytest.mark.parametrize(
    ("value", "expected", "low", "high", "words"),
    [
        (251600, 9e5, 613870.0, 1.9271e6, "x = 251,600, expected 613,870 to 1,927,100 (+3.0)"),
        (1700.0, 60.0, 46.223, 93.202, "x = 1700, expected 46.2 to 93.2 (+3.0)"),
        ("2032-01-01", "2024-01-01", "2023-01-22", "2025-04-10", "expected 2023-01-22 to 2025-04-10"),
        ("quiet street near school, lake view", "quiet street near school", None, None, "…"),
    ],
)
def test_a_cell_in_words(value, expected, low, high, words):
    parts = {"value": value, "expected": expected, "low": low, "high": high, "probability": 0.4, "surprise": 3.0}
    said = _sentence({"column": "x", **parts})
    assert words in said
    assert said.count("quiet street near school, expected") == 0


def test_a_table_of_one_column_is_scored():
    frame = pd.DataFrame({"x": [*np.linspace(0, 1, 59), 40.0]})
    assert NPTAnomalies(random_state=0).fit(frame).training_.total.argmax() == 59


@pytest.mark.usefixtures("real_reader")
def test_a_wrong_cell_is_named():
    rng = np.random.default_rng(1)
    a, noise = rng.uniform(-2, 2, 90), rng.normal(size=(3, 90)) / 10
    frame = pd.DataFrame({"a": a, "b": 2 * a + noise[0], "d": noise[1] - a, "e": a + noise[2]})
    frame.loc[11] = [1.2, -2.4, -1.2, 1.2]  # in the range of its column, but not where the others say
    detector = NPTAnomalies(random_state=0).fit(frame)
    assert 11 in detector.training_.total.argsort()[-3:]  # rows at the ends of a range are surprising too
    named = detector.explain(frame.iloc[[11]])[0].iloc[0]
    assert named["column"] == "b"
    assert named["low"] < 2.4 < named["high"]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture):
    frame, file, out = table(), tmp_path / "table.csv", tmp_path / "anomalies.csv"
    frame.loc[4, "b"], frame.loc[9, "c"] = 99.0, "sideways"
    frame.to_csv(file, index=False)
    assert command("anomalies", file, "--out", out, "--top", 2) == 0
    printed = capsys.readouterr()
    assert "b = 99, expected" in printed.out
    assert "expected  to" not in printed.out
    assert "id: identifiers" in printed.err
    written = pd.read_csv(out)
    assert list(written["row"]) == list(range(60))
    assert written.loc[written["rank"] == 1, ["id", "column"]].to_numpy().tolist() == [["r4", "b"]]
    assert command("anomalies", file, "--json", "--top", 3) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (lines[0]["row"], lines[0]["keys"]) == (4, {"id": "r4"})
    assert lines[0]["surprise"] >= lines[1]["surprise"] >= lines[2]["surprise"]
    table(70).to_csv(tmp_path / "known.csv", index=False)
    assert command("anomalies", file, "--train", tmp_path / "known.csv", "--ignore", "c", "--json", "--top", 1) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["row"], set(line["keys"])) == (4, {"id", "c"})


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--ignore", "d"), 2, "--ignore d: no such column"),
        (("--top", 0), 2, "top: must be at least 1"),
        (("--out", "x.doc"), 2, ".csv"),
        (("--ignore", "a", "b", "c", "same", "nothing"), 2, "no column to score"),
        (("--kind", "c=colour"), 2, "cannot be 'colour'"),
    ],
)
def test_what_cannot_be_meant_is_refused(words, code, message, tmp_path: Path, capsys: pytest.CaptureFixture):
    table().to_csv(tmp_path / "table.csv", index=False)
    assert command("anomalies", tmp_path / "table.csv", *words) == code
    error = capsys.readouterr().err.strip()
    assert message in error


def test_a_table_with_other_columns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture):
    table().to_csv(tmp_path / "known.csv", index=False)
    table().drop(columns="b").to_csv(tmp_path / "table.csv", index=False)
    assert command("anomalies", tmp_path / "table.csv", "--train", tmp_path / "known.csv") == 2
    assert "table.csv: the table has no column 'b'" in capsys.readouterr().err


def test_settings_out_of_range_are_refused():
    for settings in ({"contamination": 0.0}, {"contamination": 0.6}, {"members": 0}, {"max_context": 0}):
        with pytest.raises(ConfigError, match=next(iter(settings))):
            NPTAnomalies(**settings).fit(table())
