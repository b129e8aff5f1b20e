"""Tables from the command line: what is written, what is said, and what is refused in one line."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

import regard
from regard.core.errors import UserError
from regard.data.tables.files import read_table
from regard.tables import NPTClassifier, NPTImputer, NPTRegressor
from regard.tables.compare import compare
from regard.tables.encode.cells import is_missing
from regard.tables.explain import Evidence
from regard.tables.file import TableFile
from regard.tables.fit_settings import FitSettings
from regard.tables.fitting import _beats_baseline
from regard.tables.predictions import LEVELS, predict_targets
from regard.tables.problem import read_problem
from regard.tables.rendering import _row_weights
from regard.tables.scores import auc, class_scores, number_scores
from regard.tasks import load_run
from tests.command import regard as command

QUICK = ("--mode", "in_context")


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    """A file with gaps, one row without a price, and the prices of two kinds."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "area": random.integers(40, 200, 60), "city": random.choice(["Rome [centre]", "Bonn", "Oslo"], 60),
        "built": pd.date_range("1990-01-01", periods=60, freq="30D").strftime("%Y-%m-%d"), "nothing": "",
    })  # fmt: skip
    frame["price"] = frame["area"] * 1000.0 + random.normal(size=60).round(2) * 1000
    frame["class"] = np.where(frame["price"] > 120_000, "dear", "cheap")
    frame.loc[3, ["price", "class"]] = None
    frame.loc[::7, "area"] = None
    frame.to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path / "houses.csv"


@pytest.fixture
def run(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    assert command("fit", houses, "--target", "price", "--out", tmp_path / "run", *QUICK) == 0
    capsys.readouterr()
    return tmp_path / "run"


@pytest.fixture
def classes(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    assert command("fit", houses, "--target", "class", "--out", tmp_path / "classes", *QUICK) == 0
    capsys.readouterr()
    return tmp_path / "classes"


def test_fit_says_what_it_found_and_what_to_do_next(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    out = tmp_path / "run"
    assert command("fit", houses, "--target", "price", "--out", out, *QUICK) == 0
    printed = capsys.readouterr()
    for words in (
        "area     number    85%     40 to 199",
        "city     category  100%    'Bonn', 'Oslo', 'Rome [centre]'",
        "built    date      100%    1990-01-01",
        "on held-out rows: RMSE",
    ):
        assert words in printed.out, words
    for words in (
        "note: 'nothing' was empty in the training data, and is ignored",
        "note: 1 row has no 'price': dropped",
        "price: regression (it has 59 distinct numbers)",
        "to score on 11 held-out rows",
        f"regard predict {out}",
        f"regard explain {out}",
    ):
        assert words in printed.err, words
    fitted = regard.load(out)
    assert isinstance(fitted, NPTRegressor)
    assert fitted.target_names_ == ["price"]
    assert fitted.rows_.tolist() == [row for row in range(60) if row != 3]  # as the file counts them


@pytest.mark.parametrize("mode", ["auto", "scratch"])
def test_fit_in_every_mode_within_its_time(mode: str, houses: Path, tmp_path: Path):
    assert (
        command("fit", houses, "--target", "class", "--out", tmp_path / "run", "--mode", mode, "--time-limit", 1) == 0
    )
    assert regard.load(tmp_path / "run").get_params()["time_limit"] == 1


def test_columns_can_be_left_out(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    options = ("--target", "price", "--ignore", "class", "nothing", *QUICK)
    assert command("fit", houses, "--out", tmp_path / "my run", *options) == 0
    assert f"regard predict '{tmp_path / 'my run'}'" in capsys.readouterr().err
    assert list(regard.load(tmp_path / "my run").feature_names_in_) == ["area", "city", "built"]
    (tmp_path / "new.csv").write_text("area,city,built\n100,Bonn,2001-01-01\n")
    assert command("predict", tmp_path / "my run", tmp_path / "new.csv") == 0
    capsys.readouterr()
    for verb, more in (("fit", ("--out", tmp_path / "other")), ("compare", ())):
        assert command(verb, houses, *more, "--target", "price", "--ignore", "clas") == 2
        assert "has no column 'clas'; did you mean 'class'?" in capsys.readouterr().err
        assert command(verb, houses, *more, "--target", "price", "--ignore", "price") == 2
        assert "--ignore price: is the target" in capsys.readouterr().err
    assert command("compare", houses, "--folds", 2, *options, "--json") == 0
    assert "note: 1 row has no 'price': dropped" in capsys.readouterr().err


def test_a_wrong_cell_is_named_by_file_and_row(tmp_path: Path, capsys: pytest.CaptureFixture):
    path = tmp_path / "x.csv"
    for text, message in (
        ("a,t\n1,\n2,5\ninf,6\n4,7\n", "column 'a', row 2 (counted from 0): 'inf' is infinite"),
        ("a,t\n1,\n2,5\n3,1e300\n4,7\n", "column 't', row 2 (counted from 0): '1e+300' is infinite"),
    ):
        path.write_text(text)
        for words in (("fit", path, "--out", tmp_path / "run"), ("compare", path, "--folds", 2)):
            assert command(*words, "--target", "t") in (1, 2)
            error = capsys.readouterr().err.splitlines()[-1]
            assert error.startswith(f"regard: {path}: {message}")


def test_fit_says_where_nothing_was_learned(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    noise = pd.DataFrame({"x": 1.0, "y": np.random.default_rng(0).normal(size=60)})  # nothing tells rows apart
    noise.to_csv(tmp_path / "chance.csv", index=False)
    assert command("fit", tmp_path / "chance.csv", "--target", "y", "--out", tmp_path / "run", *QUICK) == 0
    assert "predicted no better than by the mean" in capsys.readouterr().err
    problem = read_problem(houses, "class")
    learned, held_out = np.arange(40), np.arange(40, 59)
    assert _beats_baseline({"log_loss": 0.3}, problem, learned, held_out)
    assert not _beats_baseline({"log_loss": 3.0}, problem, learned, held_out)
    assert _beats_baseline({"r2": 0.1}, read_problem(houses, "price"), learned, held_out)


def test_a_wide_table_is_shown_in_part(tmp_path: Path, capsys: pytest.CaptureFixture):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 60)), columns=[f"s{place}" for place in range(60)])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    assert command("fit", tmp_path / "wide.csv", "--target", "s0", "--out", tmp_path / "run", *QUICK) == 0
    printed = capsys.readouterr().out
    assert "and 19 more" in printed
    assert "s45" not in printed
    assert command("explain", tmp_path / "run", tmp_path / "wide.csv") == 0
    assert "; 47 more have smaller ones" in " ".join(capsys.readouterr().out.split())


def test_predict_gives_what_the_library_gives(run: Path, houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("predict", run, houses) == 0
    text = capsys.readouterr().out
    assert text.startswith("price,price_q5,price_q50,price_q95\n")
    assert command("predict", run, houses, "--out", tmp_path / "found.csv") == 0
    assert (tmp_path / "found.csv").read_text() == text
    found, fitted = pd.read_csv(tmp_path / "found.csv"), regard.load(run)
    np.testing.assert_allclose(found["price"], fitted.predict(read_table(houses)), rtol=1e-6)
    bounds = fitted.predict(read_table(houses), quantiles=[0.05, 0.5, 0.95])
    np.testing.assert_allclose(found.iloc[:, 1:], bounds, rtol=1e-6)
    assert command("predict", run, houses, "--out", tmp_path / "found.parquet", "--quantiles", 0.025) == 0
    assert list(pd.read_parquet(tmp_path / "found.parquet")) == ["price", "price_q2.5"]


def test_predict_puts_columns_of_the_table_before_its_own(run: Path, houses: Path, capsys: pytest.CaptureFixture):
    assert command("predict", run, houses) == 0
    plain = capsys.readouterr().out.splitlines()
    assert command("predict", run, houses, "--keep", "city", "area") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "city,area,price,price_q5,price_q50,price_q95"
    assert lines[1].split(",", 2)[2] == plain[1]
    assert [line.split(",")[0] for line in lines[1:]] == read_table(houses)["city"].tolist()
    frame = pd.read_csv(houses).assign(price_q5=0, id=[f"00{n}E{n}" for n in range(60)], when="05/04/2024", gap="NA")
    frame.to_csv(houses, index=False)
    assert command("predict", run, houses, "--keep", "id", "when", "gap", "id") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,when,gap,price,price_q5,price_q50,price_q95"
    assert lines[8].startswith("007E7,05/04/2024,NA,"), "as the file has them"
    assert command("predict", run, houses, "--keep", "price", "price_q5") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("price (in the table),price_q5 (in the table),price,price_q5,"), "the truth beside it"
    assert command("predict", run, houses, "--keep", "town") == 2
    assert "the table has no column 'town' (--keep)" in capsys.readouterr().err


def test_a_column_that_held_nothing_need_not_be_there(run: Path, houses: Path, tmp_path: Path, capsys):
    assert command("predict", run, houses) == 0
    whole = capsys.readouterr().out
    pd.read_csv(houses, dtype=str).drop(columns="nothing").to_csv(tmp_path / "less.csv", index=False)
    assert command("predict", run, tmp_path / "less.csv") == 0
    assert capsys.readouterr().out == whole


def test_one_word_among_numbers_of_a_target_is_named(houses: Path, tmp_path: Path, capsys):
    frame = pd.read_csv(houses, dtype=str)
    frame.loc[9, "price"] = "unknown"
    frame.to_csv(tmp_path / "bad.csv", index=False)
    assert command("fit", tmp_path / "bad.csv", "--target", "price", "--out", tmp_path / "x", *QUICK) == 1
    assert "58 of 59 cells are numbers, but row 9 (counted from 0) holds 'unknown'" in capsys.readouterr().err


def test_dates_of_one_form_that_shall_be_categories_are_no_news(houses: Path, tmp_path: Path, capsys):
    words = ["--target", "price", "--out", tmp_path / "x", "--kind", "built=category", *QUICK]
    assert command("fit", houses, *words) == 0
    assert "look like dates" not in capsys.readouterr().err


def test_a_gap_where_gaps_are_common_is_no_news(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    frame = read_table(houses)
    frame.loc[::2, "city"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    assert command("fit", tmp_path / "gaps.csv", "--target", "price", "--out", tmp_path / "gaps", *QUICK) == 0
    capsys.readouterr()
    assert command("explain", tmp_path / "gaps", tmp_path / "gaps.csv", "--row", 2) == 0
    assert capsys.readouterr().err == ""
    frame.assign(city=None).to_csv(tmp_path / "none.csv", index=False)
    assert command("predict", tmp_path / "gaps", tmp_path / "none.csv") == 0
    assert "'city' is empty" in capsys.readouterr().err


def test_a_number_and_its_bounds_come_from_one_answer(run: Path, houses: Path, monkeypatch: pytest.MonkeyPatch):
    fitted = regard.load(run)
    answers = Mock(side_effect=fitted._predictions)
    monkeypatch.setattr(fitted, "_predictions", answers)
    (prediction,) = predict_targets(fitted, read_table(houses))
    assert answers.call_count == 1
    assert (prediction.predictions == fitted.predict(read_table(houses))).all()
    assert (prediction.values == fitted.predict(read_table(houses), quantiles=LEVELS)).all()


def test_predict_gives_the_probability_of_each_class(classes: Path, houses: Path, capsys: pytest.CaptureFixture):
    assert command("predict", classes, houses) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "class,p_cheap,p_dear"
    probabilities = regard.load(classes).predict_proba(read_table(houses))
    cells = [line.split(",") for line in lines[1:]]
    np.testing.assert_allclose([[float(cell) for cell in row[1:]] for row in cells], probabilities, rtol=1e-6)
    assert [row[0] for row in cells] == ["dear" if own[1] > own[0] else "cheap" for own in probabilities]


def test_predict_says_what_was_never_seen(classes: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "new.csv").write_text("built,area,city,nothing,price,more\n2001-01-01,,Paris,,5,1\n")
    assert command("predict", classes, tmp_path / "new.csv") == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert "'city': 1 of 1 cell holds a category unseen in training: 'Paris'" in printed.err
    assert "is empty" not in printed.err  # in a single row it is no news
    assert "is constant" not in printed.err


def test_explain_shows_rows_and_columns(run: Path, houses: Path, capsys: pytest.CaptureFixture):
    assert command("explain", run, houses, "--row", 7, "--top", 3) == 0
    printed = capsys.readouterr().out
    (found,) = regard.load(run).evidence(read_table(houses).iloc[[7]], top=3)
    assert f"Row 7 of {houses}" in printed
    assert f"predicted price: {found.prediction:,.0f} (90% interval " in printed
    for row in found.rows.index:
        assert f"\n{row} " in printed
    assert list(found.columns.index) == sorted(found.columns.index, key=printed.index)
    assert "Rome [centre]" in printed or "Bonn" in printed or "Oslo" in printed


def test_explain_gives_json(run: Path, houses: Path, capsys: pytest.CaptureFixture):
    assert command("explain", run, houses, "--row", 7, "--top", 2, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    (found,) = regard.load(run).evidence(read_table(houses).iloc[[7]], top=2)
    assert [document["prediction"], document["number"]] == pytest.approx([found.prediction] * 2)
    assert [one["column"] for one in document["columns"]] == found.columns.index.tolist()
    effects = sum(one["effect"] for one in document["columns"])
    assert document["average"] + effects == pytest.approx(document["number"])
    assert [one["row"] for one in document["rows"]] == found.rows.index.tolist()
    assert set(document["rows"][0]["cells"]) == set(found.columns.index)
    assert document["own_row"] == 7


def test_explain_tells_how_to_read_weights(run: Path, houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("explain", run, houses) == 0
    printed = capsys.readouterr().out
    assert "Training rows with the largest weight in this prediction" in printed
    assert "row 0 of the training data is this row itself and is left out; of 58 rows" in printed
    assert "from the average prediction for training rows" in printed
    words = ("--mode", "scratch", "--time-limit", 1)
    assert command("fit", houses, "--target", "price", "--out", tmp_path / "own", *words) == 0
    assert command("explain", tmp_path / "own", houses) == 0
    printed = capsys.readouterr().out
    assert "Training rows with the most attention" in printed
    assert "no row stands out" in printed
    rows, columns = pd.DataFrame({"weight": [0.019], "target": [1.0]}), pd.DataFrame({"effect": [], "error": []})
    even = Evidence(1.0, rows, columns, 1.0, 1.0, is_probability=False, context=100, attends_to_labels=True)
    assert "no row stands out" in _row_weights(even)
    assert "no row stands out" not in _row_weights(replace(even, context=110))


def test_explain_says_what_was_never_seen(classes: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "new.csv").write_text("area,city,built,nothing,price\n1,Paris,2001-01-01,,5\n1,Bonn,2001-01-01,,5\n")
    assert command("explain", classes, tmp_path / "new.csv", "--row", 0) == 0
    assert "unseen in training: 'Paris'" in capsys.readouterr().err
    assert command("explain", classes, tmp_path / "new.csv", "--row", 1) == 0
    assert capsys.readouterr().err == ""


def test_verbs_take_a_run_of_several_targets(houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    frame = read_table(houses).dropna(subset="price")
    frame["rooms"] = np.arange(59) % 3
    frame.to_csv(tmp_path / "known.csv", index=False)
    cells = frame[["area", "city"]]
    both = NPTRegressor(mode="in_context", members=2, random_state=0).fit(cells, frame[["price", "rooms"]])
    both.save(tmp_path / "numbers")
    classes = NPTClassifier(mode="in_context", members=2, random_state=0).fit(cells, frame[["class", "rooms"]])
    classes.save(tmp_path / "classes")
    for run in ("numbers", "classes"):
        assert command("explain", tmp_path / run, tmp_path / "known.csv", "--top", 2) == 0
        printed = capsys.readouterr().out
        assert (
            printed.count("Columns that the prediction depends on")
            == printed.count("Training rows with the largest weight")
            == 2
        )
        assert "(the first is 0): predicted rooms: " in printed
        assert command("predict", tmp_path / run, tmp_path / "known.csv") == 0
        capsys.readouterr()
        assert command("evaluate", tmp_path / run, tmp_path / "known.csv", "--json") == 0
        scores = json.loads(capsys.readouterr().out)
        if run == "numbers":
            assert scores["price.r2"] == pytest.approx(r2_score(frame["price"], both.predict(cells)[:, 0]))
            assert scores["rooms.r2"] == pytest.approx(r2_score(frame["rooms"], both.predict(cells)[:, 1]))
        else:
            probabilities = classes.predict_proba(cells)[1]
            assert scores["rooms.log_loss"] == pytest.approx(log_loss(frame["rooms"], probabilities))


def test_explain_of_classes_tells_how_sure_it_is(classes: Path, houses: Path, capsys: pytest.CaptureFixture):
    assert command("explain", classes, houses) == 0
    probabilities = regard.load(classes).predict_proba(read_table(houses).head(1))[0]
    assert f"(probability {probabilities.max():.0%})" in capsys.readouterr().out


def test_explain_shows_cells_that_are_lists(tmp_path: Path, capsys: pytest.CaptureFixture):
    frame = pd.DataFrame({"tags": [["a", "b"], ["c"]] * 15, "x": np.arange(30.0), "y": np.arange(30.0) ** 2})
    frame.loc[3, "tags"] = None
    frame.to_parquet(tmp_path / "t.parquet")
    assert command("fit", tmp_path / "t.parquet", "--target", "y", "--out", tmp_path / "run", *QUICK) == 0
    capsys.readouterr()
    assert command("explain", tmp_path / "run", tmp_path / "t.parquet", "--row", 0, "--top", 30) == 0
    printed = capsys.readouterr().out
    assert "['a' 'b']" in printed
    assert "–" in printed
    assert all(is_missing(cell) for cell in (None, pd.NA, pd.NaT, np.float32("nan")))
    assert not any(is_missing(cell) for cell in ("", 0.0, [None], np.array([np.nan])))


def test_evaluate_takes_every_target_that_fit_takes(tmp_path: Path, capsys: pytest.CaptureFixture):
    file, run = tmp_path / "t.parquet", tmp_path / "run"
    frame = pd.DataFrame({"x": np.arange(30.0), "took": pd.to_timedelta(np.arange(30) + 0.5, unit="D")})
    frame.to_parquet(file)
    assert command("fit", file, "--target", "took", "--out", run, *QUICK) == 0
    capsys.readouterr()
    assert command("evaluate", run, file, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["mae"] == pytest.approx(np.abs(np.arange(30) + 0.5 - regard.load(run).predict(frame)).mean())
    frame.assign(took=["", *["long"] * 29]).to_csv(tmp_path / "text.csv", index=False)
    assert command("evaluate", run, tmp_path / "text.csv") == 2
    assert "text.csv: column 'took', row 1 (counted from 0): 'long' is not a number" in capsys.readouterr().err


def test_evaluate_scores_as_scikit_learn_does(run: Path, classes: Path, houses: Path, capsys: pytest.CaptureFixture):
    frame = read_table(houses)
    known = frame[frame["price"].notna()]
    assert command("evaluate", run, houses, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    answers = regard.load(run).predict(known)
    assert scores["r2"] == pytest.approx(r2_score(known["price"], answers))
    assert scores["mae"] == pytest.approx(mean_absolute_error(known["price"], answers))
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean((known["price"] - answers) ** 2)))
    assert (scores["rows"], scores["dropped"]) == (59, 1)
    assert command("evaluate", classes, houses, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    probabilities = regard.load(classes).predict_proba(known)
    assert scores["auc"] == pytest.approx(roc_auc_score(known["class"] == "dear", probabilities[:, 1]))
    assert scores["log_loss"] == pytest.approx(log_loss(known["class"], probabilities, labels=["cheap", "dear"]))
    assert command("evaluate", classes, houses) == 0
    assert "accuracy: " in capsys.readouterr().out


def test_scores_of_several_classes_and_of_one_that_nobody_knew():
    random = np.random.default_rng(0)
    probabilities = random.dirichlet([1, 1, 1], 50)
    truth = random.integers(0, 3, 50)
    scores = class_scores(truth, probabilities)
    assert scores["auc"] == pytest.approx(roc_auc_score(truth, probabilities, multi_class="ovo"))
    assert scores["log_loss"] == pytest.approx(log_loss(truth, probabilities))
    more = class_scores(np.append(truth, 3), np.append(probabilities, [[1, 0, 0]], axis=0))
    assert more["accuracy"] == pytest.approx(scores["accuracy"] * 50 / 51)
    assert more["auc"] == scores["auc"]
    assert set(class_scores(np.array([1]), probabilities[:1])) == {"accuracy", "log_loss"}
    assert set(number_scores(np.array([1.0]), np.array([2.0]))) == {"rmse", "mae"}


@given(st.integers(3, 6), st.data())
def test_the_area_is_that_of_all_pairs_with_equal_chances_too(classes: int, data: st.DataObject):
    more = data.draw(st.lists(st.integers(0, classes - 1), max_size=30))
    truth = np.array([*range(classes), *more])  # each class is there
    probabilities = data.draw(arrays(float, (len(truth), classes), elements=st.integers(1, 4)))
    probabilities /= probabilities.sum(1, keepdims=True)
    assert auc(truth, probabilities) == pytest.approx(roc_auc_score(truth, probabilities, multi_class="ovo"), abs=1e-9)


def test_a_label_is_known_however_the_other_file_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture):
    rows = "".join(f"{number},{'a' if number % 3 else number % 2}\n" for number in range(30))
    (tmp_path / "train.csv").write_text("x,code\n" + rows)
    (tmp_path / "test.csv").write_text("x,code\n1,1\n2,0\n3,1\n")  # all of them read as numbers here
    assert command("fit", tmp_path / "train.csv", "--target", "code", "--out", tmp_path / "run", *QUICK) == 0
    capsys.readouterr()
    assert command("evaluate", tmp_path / "run", tmp_path / "test.csv", "--json") == 0
    assert "log_loss" in json.loads(capsys.readouterr().out)


def test_show_tells_of_tables(run: Path, houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("show", run) == 0
    printed = capsys.readouterr().out
    assert f"{run}: NPTRegressor of price, mode in_context, 59 training rows" in printed
    assert "on held-out rows: RMSE" in printed
    assert "city     category  100%    'Bonn', 'Oslo', 'Rome [centre]'" in printed
    NPTImputer().fit(read_table(houses)).save(tmp_path / "gaps")
    assert command("show", tmp_path / "gaps") == 0
    assert "NPTImputer, 60 training rows" in capsys.readouterr().out


def test_compare_puts_ours_beside_others(houses: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.tables.baselines.find_spec", lambda name: None)  # what is installed must not matter
    assert command("compare", houses, "--target", "price", "--folds", 2, *QUICK) == 0
    printed = capsys.readouterr().out
    assert "RMSE in 2 folds (lower is better)" in printed
    for name in ("regard in_context", "linear", "nearest neighbours", "random forest", "histogram boosting"):
        assert name in printed
    assert "failed" not in printed
    assert command("compare", houses, "--target", "class", "--folds", 2, *QUICK, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    aucs = [scores["auc"] for scores in found.values()]
    assert aucs == sorted(aucs, reverse=True), "the best comes first"
    assert found["random forest"]["auc"] > 0.9


def test_compare_goes_on_where_a_model_fails(
    houses: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr("regard.tables.compare.installed_baselines", lambda: {"broken": broken})
    assert command("compare", houses, "--target", "price", "--folds", 2, *QUICK) == 0
    printed = capsys.readouterr()
    assert "broken failed: ValueError: no such thing" in printed.err
    assert "regard in_context" in printed.out


def test_compare_puts_the_best_first_by_accuracy_too(tmp_path: Path):
    """Where a class is so rare that a fold asks for one class only, there is no AUC."""
    pd.DataFrame({"x": range(30), "t": ["rare", *["usual"] * 29]}).to_csv(tmp_path / "t.csv", index=False)
    problem = read_problem(tmp_path / "t.csv", "t")
    constant = {
        name: lambda cells, classifies, seed, says=says: DummyClassifier(strategy="constant", constant=says)
        for name, says in {"mostly wrong": 0, "mostly right": 1}.items()
    }
    metric, found = compare(problem, FitSettings(mode="in_context", time_limit=1), 2, constant)
    means = [one.mean for one in found if not one.error]
    assert metric == "accuracy"
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    ("cells", "options", "classifies", "reason"),
    [
        (["a", "b"] * 10, {}, True, "2 distinct values"),
        ([True, False] * 10, {}, True, "2 distinct values"),
        ([0, 1] * 10, {}, True, "2 distinct integers"),
        ([0, 1] * 4, {}, False, "2 distinct numbers"),
        ([0.5, 1.0] * 10, {}, False, "2 distinct numbers"),
        (list(range(20)), {}, False, "20 distinct numbers"),
        ([0, 1] * 10, {"task": "regress"}, False, "--task regress"),
        ([0, 1] * 10, {"kinds": {"t": "number"}}, False, "--kind t=number"),
        (list(range(20)), {"task": "classify"}, True, "--task classify"),
        (["1", "2", "x"] * 5, {}, True, "3 distinct texts"),
    ],
    ids=str,
)
def test_the_task_follows_from_the_target(cells: list, options: dict, classifies: bool, reason: str, tmp_path: Path):
    pd.DataFrame({"x": range(len(cells)), "t": cells}).to_csv(tmp_path / "t.csv", index=False)
    problem = read_problem(tmp_path / "t.csv", "t", **options)
    assert problem.classifies == classifies
    assert reason in problem.reason


def test_some_rows_are_left_to_learn_from(tmp_path: Path):
    pd.DataFrame({"x": range(20), "t": np.arange(20) / 3}).to_csv(tmp_path / "t.csv", index=False)
    known, held_out = TableFile(file=str(tmp_path / "t.csv"), target="t", valid_share=0.98).tables()
    assert (len(known.target), len(held_out.target)) == (1, 19)


def test_a_row_or_two_are_enough(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "two.csv").write_text("x,t\n1,5\n2,7\n")
    assert command("fit", tmp_path / "two.csv", "--target", "t", "--out", tmp_path / "run") == 0
    assert "held-out" not in capsys.readouterr().out
    assert command("predict", tmp_path / "run", tmp_path / "two.csv") == 0


FILES = {
    "none.csv": "a,b,t\n1,2,\n3,4,\n",
    "one.csv": "a,b,t\n1,2,x\n3,4,x\n",
    "same.csv": "a,b,t\n1,2,5\n3,4,5\n",
    "void.csv": "",
    "header.csv": "a,b,t\n",
    "alone.csv": "t\n1\n2\n",
    "dates.csv": "a,t\n1,2024-01-01\n2,2024-01-02\n",
    "texts.csv": "a,t\n" + "".join(f"{number},name {number}\n" for number in range(60)),
    "few.csv": "a,b,t\n1,2,5\n3,4,6\n",
}


@pytest.mark.parametrize(
    ("file", "options", "message", "code"),
    [
        ("few.csv", ["--target", "tt"], "has no column 'tt'; did you mean 't'?", 2),
        ("none.csv", ["--target", "t"], "'t' is empty in every row", 1),
        ("one.csv", ["--target", "t"], "'t' is 'x' in every row", 1),
        ("same.csv", ["--target", "t"], "'t' is 5.0 in every row", 1),
        ("void.csv", ["--target", "t"], "is empty", 1),
        ("header.csv", ["--target", "t"], "has a header and no rows", 1),
        ("alone.csv", ["--target", "t"], "has no column but 't'", 1),
        ("dates.csv", ["--target", "t"], "'t' holds dates", 1),
        ("texts.csv", ["--target", "t"], "60 distinct texts in 60 rows", 1),
        ("texts.csv", ["--target", "t", "--task", "regress"], "is not numeric", 1),
        ("absent.csv", ["--target", "t"], "cannot be read", 1),
        ("few.csv", ["--target", "t", "--time-limit", "0"], "--time-limit: ", 2),
        ("few.csv", ["--target", "t", "--seed", "-1"], "seed: ", 2),
        ("few.csv", ["--target", "t", "--kind", "a"], "--kind a: must be COLUMN=number", 2),
        ("few.csv", ["--target", "t", "--kind", "x=number"], "there is no column 'x'", 2),
        ("few.csv", ["--target", "t", "--kind", "a=nmber"], "'a' cannot be 'nmber'", 2),
        ("few.csv", ["--target", "t", "--kind", "t=date"], "a target is a number or a category", 2),
        ("few.csv", ["--target", "t", "--mode", "fast"], "fast", 2),
        ("few.csv", ["--target", "t", "--folds", "9"], "--folds", 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_tables_that_cannot_be_learned_are_one_line(
    verb: str, file: str, options: list, message: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture
):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    out = ["--out", tmp_path / "run"] if verb == "fit" else []
    assert command(verb, tmp_path / file, *options, *out) == code
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.startswith("regard: ") or verb == "compare"
    assert said.err.count("regard: ") == 1
    assert said.out == ""
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_taken_is_refused_before_any_work(
    run: Path, houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("regard.tables.fitting.fit_problems", lambda *_: pytest.fail("that was work"))
    before = {file: file.read_bytes() for file in run.iterdir()}
    assert command("fit", houses, "--target", "price", "--out", run) == 1
    assert "already holds a run; replace it with --overwrite" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    assert command("fit", houses, "--target", "price", "--out", tmp_path / "mine", "--overwrite") == 1
    assert "holds 'thesis.txt', which is not a run's" in capsys.readouterr().err
    assert command("fit", houses, "--target", "price", "--out", houses) == 1
    assert "is a file" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in run.iterdir()} == before


def test_overwrite_replaces_a_run(run: Path, houses: Path):
    assert command("fit", houses, "--target", "class", "--out", run, "--overwrite", *QUICK) == 0
    assert isinstance(regard.load(run), NPTClassifier)


@pytest.mark.parametrize("verb", ["predict", "explain", "evaluate"])
def test_other_tables_and_other_runs_are_refused(
    verb: str, run: Path, houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    def refused(folder: Path, table: Path, message: str, code: int) -> None:
        assert command(verb, folder, table) == code
        said = capsys.readouterr()
        assert message in said.err
        assert said.err.count("\n") == 1
        assert said.out == ""

    text = houses.read_text()
    (tmp_path / "renamed.csv").write_text(text.replace("area", "aera", 1))
    refused(run, tmp_path / "renamed.csv", "renamed.csv: the table has no column 'area'; did you mean 'aera'?", 2)
    (tmp_path / "wrong.csv").write_text("area,city,built,nothing,price,class\nbig,Bonn,2000-01-01,,1,dear\n")
    refused(run, tmp_path / "wrong.csv", "'big' is not a number", 2)
    (tmp_path / "void.csv").write_text("")
    refused(run, tmp_path / "void.csv", "void.csv: is empty", 1)
    if verb != "evaluate":
        NPTImputer().fit(read_table(houses)).save(tmp_path / "gaps")
        refused(tmp_path / "gaps", houses, "imputes missing cells and predicts nothing", 1)
        refused(tmp_path / "nowhere", houses, "there is no such run folder", 1)
        (tmp_path / "text").mkdir()
        (tmp_path / "text" / "config.yaml").write_text("model: {kind: GPT, vocab: 3}\n")
        refused(tmp_path / "text", houses, "holds no table, as `regard fit` makes one; `regard show", 1)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_predicted(
    run: Path, houses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(NPTRegressor, "_predictions", lambda *_: pytest.fail("all that would be for nothing"))
    (tmp_path / "book.xlsx").write_bytes(b"")
    for name in ("found.pdf", "book.xlsx::Sheet2"):  # a sheet would replace the whole book
        assert command("predict", run, houses, "--out", tmp_path / name) == 2


def test_nothing_is_written_where_predicting_fails(run: Path, tmp_path: Path):
    (tmp_path / "wrong.csv").write_text("area,city,built\nbig,Bonn,2000-01-01\n")
    assert command("predict", run, tmp_path / "wrong.csv", "--out", tmp_path / "found.csv") == 2
    assert not (tmp_path / "found.csv").exists()


def test_what_cannot_be_meant_of_a_run(run: Path, houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    for words, message, code in (
        (("predict", run, houses, "--quantiles", 1.5), "regard: --quantiles: must lie between 0 and 1", 2),
        (("predict", run, houses, "--out", tmp_path / "found.pdf"), "a table is written as .csv, .tsv, .parquet", 2),
        (("explain", run, houses, "--row", 60), "--row 60", 2),
        (("explain", run, houses, "--row", -1), "--row -1", 2),
        (("explain", run, houses, "--top", 0), "top: must be at least 1, not 0", 2),
        (("evaluate", run, houses, "--beam", 3), "--beam: is for text", 2),
    ):
        assert command(*words) == code
        assert message in capsys.readouterr().err
    houses.write_text(houses.read_text().replace("price", "prize", 1))
    assert command("evaluate", run, houses) == 1
    assert "has no column 'price', so there is nothing to compare" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["translate", "generate", "classify", "fill", "summarise"])
def test_verbs_about_text_refuse_a_table(verb: str, run: Path, capsys: pytest.CaptureFixture):
    assert command(verb, run) == 1
    assert "holds a table; use `regard predict`" in capsys.readouterr().err
    with pytest.raises(UserError, match="holds a table"):
        load_run(run)


def test_a_table_is_no_hugging_face_folder(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("export", run, "--to", "huggingface", "--out", tmp_path / "out") == 2
    assert "onnx, torch and html take one" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
