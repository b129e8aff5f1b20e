"""The report of a fitted table: its numbers equal those that others compute, and its page is one safe file."""

import html
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.calibration import calibration_curve
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)

from regard.core.errors import ConfigError
from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.baselines import linear
from regard.tables.cutting import cut, cut_apart
from regard.tables.encode.columns import Columns
from regard.tables.encode.table import EncodedTable
from regard.tables.report import accuracy, baselines, dependence, held_out, importance
from regard.tables.report.accuracy import score_models
from regard.tables.report.calibration import coverage, reliability
from regard.tables.report.deciding import influence_section
from regard.tables.report.direction import Outputs
from regard.tables.report.held_out import Fold, HeldOutRows, divide, divided_rows
from regard.tables.report.importance import measure_importance
from regard.tables.report.markup import table as html_table
from regard.tables.report.mistakes import confusion, detection, recall_steps
from regard.tables.report.next_steps import FitOptions
from regard.tables.report.results import Coverage, DecidingRow, Influence, Results, TargetResults
from regard.tables.report.svg import Axes, Scale, fitting_ticks, labelled_ticks
from tests.command import regard as command

NASTY = "<script>alert('x')</script> & \"y\""


def houses(rows: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "area": rng.integers(40, 200, rows).astype(float), "city": rng.choice(["Bonn", "Oslo", "Rome"], rows),
        "sold": pd.date_range("2020-01-01", periods=rows, freq="D"), "nothing": np.nan,
    })  # fmt: skip
    price = 3 * table["area"] + 100 * (table["city"] == "Oslo") + rng.normal(size=rows)
    table.loc[::7, "area"] = np.nan
    return table, pd.Series(price.fillna(300), name="price")


def quick(kind: type = NPTRegressor) -> NPTRegressor | NPTClassifier:
    return kind(mode="in_context", members=2, random_state=0)


@pytest.fixture(scope="module")
def numbers(tiny_reader: Path) -> tuple[NPTRegressor, pd.DataFrame, pd.Series, Results, str]:
    """A regressor with the report of other rows than those that it was fitted to."""
    train, test = houses(60), houses(30, seed=1)
    model = quick().set_params(weights=tiny_reader).fit(*train)
    report = model.report(*test)
    return model, *test, report.results, report.html


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little work for a page whose numbers do not matter."""
    monkeypatch.setattr(held_out, "FOLDS", 2)
    monkeypatch.setattr(baselines, "histogram_boosting", linear)
    for module in (importance, dependence):
        monkeypatch.setattr(module, "PREDICTIONS", 100)
    for module in (importance, accuracy):
        monkeypatch.setattr(module, "RESAMPLES", 20)


@dataclass(frozen=True)
class Formula:
    """A predictor that is a known function of the cells."""

    attends_to_labels = True

    def predict(self, values: torch.Tensor) -> torch.Tensor:
        mean = 5 * values[:, 0] - 2 * values[:, 1]
        return torch.stack([mean, mean - 1, mean, mean + 1], 1)

    def row_weights(self, values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


def formula_rows(rows: int, columns: int) -> tuple[HeldOutRows, Columns, pd.DataFrame]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"c{number}" for number in range(columns)])
    values = torch.from_numpy(frame.to_numpy(np.float32).copy())
    truth = 5 * frame["c0"].to_numpy() - 2 * frame["c1"].to_numpy() + rng.normal(size=rows)
    table = EncodedTable(values, torch.zeros(columns, dtype=torch.bool), torch.from_numpy(truth), 0)
    fold = Fold(Formula(), table, np.arange(rows))
    return HeldOutRows(values, truth, np.zeros(rows, dtype=int), (fold,), 0), Columns.fit(frame), frame


def test_scores_of_numbers_are_those_of_scikit_learn(numbers):
    model, table, prices, results, _ = numbers
    own, mean, ridge, boosting = results.targets[0].models
    predicted, truth = model.predict(table), prices.to_numpy()
    for metric, score in (("rmse", root_mean_squared_error), ("mae", mean_absolute_error), ("r2", r2_score)):
        assert own.scores[metric].value == pytest.approx(score(truth, predicted), rel=1e-6)
        assert own.scores[metric].low < own.scores[metric].value < own.scores[metric].high
    train, train_prices = houses(60)
    dummy = DummyRegressor().fit(train, train_prices).predict(table)
    assert mean.scores["mae"].value == pytest.approx(mean_absolute_error(truth, dummy))
    assert boosting.lead.value == pytest.approx(boosting.scores["rmse"].value - own.scores["rmse"].value)
    cells = [model._encode(each).numpy() for each in (train, table)]
    filled = ~np.isnan(cells[0]).all(0)
    boosted = HistGradientBoostingRegressor(
        categorical_features=model.tables_[0].category.numpy()[filled], random_state=0
    ).fit(cells[0][:, filled], train_prices)
    expected = root_mean_squared_error(truth, boosted.predict(cells[1][:, filled]))
    assert boosting.scores["rmse"].value == pytest.approx(expected)
    assert ridge.scores["r2"].value > 0.5


def test_scores_of_classes_are_those_of_scikit_learn():
    table, prices = houses(60)
    labels = pd.Series(np.where(prices > 350, "dear", "cheap"), name="class")
    model, (other, other_prices) = quick(NPTClassifier).fit(table, labels), houses(40, seed=1)
    truth = np.where(other_prices > 350, "dear", "cheap")
    own, frequencies, *_ = model.report(other, truth).results.targets[0].models
    probabilities = model.predict_proba(other)
    assert own.scores["auc"].value == pytest.approx(roc_auc_score(truth == "dear", probabilities[:, 1]))
    assert own.scores["accuracy"].value == pytest.approx(accuracy_score(truth, model.predict(other)))
    assert own.scores["log_loss"].value == pytest.approx(log_loss(truth, probabilities))
    dummy = DummyClassifier(strategy="prior").fit(table, labels).predict_proba(other)
    assert frequencies.scores["log_loss"].value == pytest.approx(log_loss(truth, dummy))
    assert frequencies.scores["auc"].value == 0.5


def test_bootstrap_intervals_are_those_of_a_mean():
    rng = np.random.default_rng(0)
    truth, errors = rng.normal(size=400), rng.exponential(size=400)
    (one,) = score_models(truth, {"one": (truth + errors)[:, None]}, 0, seed=0)
    half = 1.96 * errors.std() / np.sqrt(400)
    assert one.scores["mae"].high - one.scores["mae"].low == pytest.approx(2 * half, rel=0.15)


def test_every_training_row_is_predicted_by_a_model_that_has_not_seen_it():
    table, prices = houses(40)
    model = quick().fit(table[["area"]], prices)
    division = divide(model)
    assert np.array_equal(np.sort(np.concatenate(division.held_out)), np.arange(40))
    rows = divided_rows(model, 0, division)
    predicted = rows.predict()[:, 0]
    for number, (train, test) in enumerate(zip(division.train, division.held_out, strict=True)):
        assert not set(train) & set(test)
        alone = quick().fit(table[["area"]].iloc[train], prices.iloc[train])
        expected = alone.predict(table[["area"]].iloc[test])
        assert predicted[rows.fold_of == number] == pytest.approx(expected, rel=1e-5)
        assert np.array_equal(rows.truth[rows.fold_of == number], prices.to_numpy()[test])


def test_rows_repeated_by_their_weight_are_held_out_together():
    table, prices = houses(30)
    model = quick().fit(table, prices, sample_weight=np.r_[5.0, np.ones(29)])
    division = divide(model)
    repeated = set(np.flatnonzero(model.rows_.numpy() == 0))
    assert len(repeated) > 1
    for train, test in zip(division.train, division.held_out, strict=True):
        assert not set(model.rows_.numpy()[train]) & set(model.rows_.numpy()[test])
    assert sum(len(repeated & set(each)) for each in division.held_out) == 1


def test_reliability_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    probability = rng.random(240)
    occurred = rng.random(240) < probability**2
    measured = reliability("x", occurred, probability)
    observed, predicted = calibration_curve(occurred, probability, n_bins=8, strategy="quantile")
    assert [one.observed.value for one in measured.bins] == pytest.approx(observed.tolist())
    assert [one.predicted for one in measured.bins] == pytest.approx(predicted.tolist())
    assert sum(one.rows for one in measured.bins) == 240
    assert measured.error == pytest.approx(np.abs(observed - predicted).mean(), rel=1e-6)


def test_coverage_counts_numbers_within_their_intervals(numbers):
    model, table, prices, results, _ = numbers
    measured = results.targets[0].calibration
    assert isinstance(measured, Coverage)
    low, high = model.predict(table, quantiles=[0.05, 0.95]).T
    last = measured.intervals[-1]
    assert last.covered.value == pytest.approx(((low <= prices) & (prices <= high)).mean())
    assert last.width == pytest.approx((high - low).mean(), rel=1e-5)
    below = (prices.to_numpy() <= model.predict(table, quantiles=[0.25])[:, 0]).mean()
    assert measured.below[measured.levels.index(0.25)] == pytest.approx(below)
    certain = coverage(np.zeros(10), np.tile([0.0, -1.0, 0.0, 1.0], (10, 1)))
    assert certain.intervals[-1].covered.value == 1 >= certain.intervals[-1].covered.low > 0.6


def test_confusion_and_detection_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, probabilities = rng.integers(0, 3, 200), rng.dirichlet(np.ones(3), 200)
    measured = confusion(truth, probabilities, ("a", "b", "c"))
    assert np.array_equal(measured.counts, confusion_matrix(truth, probabilities.argmax(1)))
    assert measured.mistakes[0][2] == max(
        n for i, row in enumerate(measured.counts) for j, n in enumerate(row) if i != j
    )
    unseen = confusion(np.array([0, 3]), probabilities[:2], ("a", "b", "c"))
    assert unseen.labels[-1] == "unseen in training"
    assert sum(unseen.counts[-1]) == 1

    rare, probability = rng.random(200) < 0.1, rng.random(200)
    result = detection(rare, probability, "rare")
    chosen = probability >= result.threshold
    assert result.average_precision == pytest.approx(average_precision_score(rare, probability))
    assert result.scores["proposed"]["precision"] == pytest.approx(precision_score(rare, chosen))
    assert result.scores["proposed"]["recall"] == pytest.approx(recall_score(rare, chosen))
    assert detection(np.zeros(5, dtype=bool), probability[:5], "rare") is None
    proposed = detection(rare, probability, "rare", 0.125)
    assert (proposed.threshold, proposed.chosen_here) == (0.125, False)
    assert proposed.scores["proposed"]["recall"] == pytest.approx(recall_score(rare, probability >= 0.125))


def test_importance_is_that_of_scikit_learn():
    rows, columns, frame = formula_rows(300, 3)

    class Model(RegressorMixin, BaseEstimator):
        def fit(self, X, y):  # noqa: N803
            return self

        def predict(self, X):  # noqa: N803
            return 5 * X[:, 0] - 2 * X[:, 1]

    measured = measure_importance(rows, columns, Outputs((0,), ("y",)), seed=0)
    scoring = "neg_root_mean_squared_error"
    expected = permutation_importance(Model(), frame.to_numpy(), rows.truth, scoring=scoring, n_repeats=30)
    assert [one.name for one in measured.columns] == ["c0", "c1", "c2"]
    for one, value in zip(measured.columns, expected.importances_mean, strict=True):
        assert one.loss.value == pytest.approx(value, rel=0.06, abs=1e-9)
        assert one.loss.low <= one.loss.value <= one.loss.high
    assert [one.direction for one in measured.columns] == ["↗ rises", "↘ falls", ""]


def test_of_a_wide_table_the_columns_that_matter_are_measured():
    rows, columns, _ = formula_rows(300, 120)
    measured = measure_importance(rows, columns, Outputs((0,), ("y",)), seed=0)
    assert [one.name for one in measured.columns[:2]] == ["c0", "c1"]
    assert measured.unmeasured == 120 - len(measured.columns) > 0


def test_dependence_is_the_average_prediction_with_one_cell_everywhere(numbers):
    model, table, _, results, _ = numbers
    curves = {one.name: one for one in results.targets[0].dependence}
    assert set(curves) == {"area", "city", "sold"}
    for name, one in curves.items():
        assert one.rows == len(table)
        for cell, average in list(zip(one.cells, one.curves[0][1], strict=True))[:3]:
            expected = model.predict(table.assign(**{name: cell})).mean()
            assert average == pytest.approx(expected, rel=1e-5)
    assert curves["city"].cells == ("Bonn", "Oslo", "Rome")
    assert sum(curves["city"].counts) == 60


def test_deciding_rows_have_the_largest_mean_weight(numbers):
    model, table, _, results, _ = numbers
    weights = model.predictors_[0].row_weights(model._encode(table)).mean(0)
    measured = results.targets[0].influence
    assert measured.rows[0].row == int(weights.argmax())
    assert measured.rows[0].weight == pytest.approx(float(weights.max()), rel=1e-5)
    train, prices = houses(60)
    assert measured.rows[0].target == pytest.approx(prices[measured.rows[0].row])
    cells = dict(zip(measured.columns, measured.rows[0].cells, strict=True))
    assert cells["city"] == train["city"][measured.rows[0].row]
    assert measured.uniform == pytest.approx(1 / 60)


def check_page(html: str) -> ElementTree.Element:
    """Well-formed, without scripts, and without anything that another file would have to hold."""
    page = ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>"))
    assert not [one for one in page.iter() if one.tag in ("script", "img", "link", "iframe", "object")]
    assert not re.search(r"https?:|url\(|@import|\b(src|href|on\w+)=", html)
    assert not re.search(r"\bnan\b|\binf\b", "".join(page.itertext()))
    return page


def test_page_is_one_file_with_all_sections(numbers):
    page = check_page(numbers[-1])
    titles = [one.text for one in page.iter("h2")]
    assert titles[0] == "What was learned from what"
    assert titles[-2:] == ["Warnings", "What to do next"]
    assert len(titles) == 9
    text = "".join(page.itertext())
    for words in (
        "price",
        "30 rows that the model had not seen",
        "'nothing' was empty in the training data",
    ):
        assert words in text, words
    own = numbers[3].targets[0].models[0].scores["rmse"].value
    assert f"{own:.2f}" in text


@pytest.mark.usefixtures("few")
def test_names_and_cells_are_text_not_markup():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({NASTY: rng.normal(size=40), "b": rng.choice([NASTY, "b"], 40)})
    labels = pd.Series(np.where(table[NASTY] > 0, NASTY, "c"), name=f"target {NASTY}")
    html = quick(NPTClassifier).fit(table, labels).report().html
    page = check_page(html)
    assert NASTY in "".join(page.itertext())
    assert "<script" not in html


@pytest.mark.usefixtures("few")
def test_several_targets_have_a_section_each():
    table, prices = houses(40)
    targets = pd.DataFrame({"price": prices, "double": 2 * prices})
    report = quick().fit(table, targets).report()
    page = check_page(report.html)
    assert [one.text for one in page.iter("h2") if one.get("class") == "target"] == ["price", "double"]
    assert [one.name for one in report.results.targets] == ["price", "double"]


@pytest.mark.usefixtures("few")
def test_many_classes_long_names_and_a_text_column():
    rng = np.random.default_rng(0)
    labels = [f"class with a name that is long {number}" for number in range(15)]
    truth = rng.permutation(np.repeat(labels, 6))
    table = pd.DataFrame({
        "a column with a name that is rather long, as in a survey": rng.normal(size=90),
        "note": [" ".join(rng.choice(list("abcdefghijklmnop"), 4)) for _ in range(90)],
    })  # fmt: skip
    report = quick(NPTClassifier).fit(table, truth).report()
    page = check_page(report.html)
    assert report.results.targets[0].mistakes.counts == ()
    assert "the most frequent mistakes" in "".join(page.itertext())
    assert {one.name for one in report.results.targets[0].dependence} == {table.columns[0]}


@pytest.mark.usefixtures("few")
def test_a_rare_class_has_a_threshold():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=120)})
    labels = pd.Series(np.where(table["x"] + rng.normal(size=120) > 1.9, "yes", "no"), name="fraud")
    report = quick(NPTClassifier).fit(table, labels).report()
    threshold = report.results.targets[0].detection.threshold
    text = "".join(check_page(report.html).itertext())
    assert "'yes' is rare" in text
    assert 0 < threshold < 1


@pytest.mark.usefixtures("few")
def test_a_tiny_table_has_a_report_or_a_clear_error():
    table, prices = houses(12)
    report = quick().fit(table, prices).report()
    check_page(report.html)
    assert any("only 12 held-out rows" in line for line in report.results.warnings)
    model = quick().fit(table[:5], prices[:5])
    with pytest.raises(ConfigError, match=r"5 training rows are too few to hold some out"):
        model.report()
    check_page(model.report(table, prices).html)
    with pytest.raises(ConfigError, match="X and y belong together"):
        model.report(table)
    with pytest.raises(ConfigError, match="X has 12 rows and y 3"):
        model.report(table, prices[:3])


@pytest.mark.usefixtures("few")
def test_a_table_of_empty_and_constant_columns():
    table = pd.DataFrame({"nothing": [np.nan] * 30, "same": ["x"] * 30})
    report = quick(NPTClassifier).fit(table, ["a", "b"] * 15).report()
    check_page(report.html)
    assert any("'same' is constant" in line for line in report.results.warnings)


@pytest.mark.usefixtures("few")
def test_repeated_rows_are_a_warning():
    numbers = np.random.default_rng(0).normal(size=(120, 2))
    numbers = np.concatenate([numbers, numbers[:80]])
    warnings = quick().fit(numbers, numbers.sum(1)).report().results.warnings
    assert any("held-out rows repeat training rows" in line for line in warnings)


def test_a_notebook_shows_a_frame_and_save_writes_the_page(numbers, tmp_path: Path):
    from regard.tables.report import Report

    report = Report(numbers[3], numbers[4])
    frame = ElementTree.fromstring(report._repr_html_())
    assert frame.tag == "iframe"
    assert frame.get("srcdoc", "").split() == report.html.split()
    report.save(tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == report.html


def test_ticks_are_round_and_told_apart():
    assert [label for _, label in labelled_ticks(0, 1)] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [label for _, label in labelled_ticks(-30_000, 30_000, 4)] == ["−20,000", "0", "20,000"]
    assert labelled_ticks(3, 3) == [(3, "3")]


def test_ticks_have_room_for_their_labels():
    narrow = Scale(180_000, 720_000, 0, 190)
    labels = [label for _, label in fitting_ticks(narrow)]
    assert labels == ["200,000", "400,000", "600,000"]
    assert len(fitting_ticks(Scale(180_000, 720_000, 0, 60))) == 1
    narrow, wide = (Axes.of((0, 1), (0, high), 400, 300).x.start for high in (1, 2_000_000))
    assert wide - narrow == pytest.approx(6.2 * (len("2,000,000") - len("1.0")))


def test_texts_are_cut_so_that_they_can_be_told_apart():
    assert cut("quiet street near school", 14) == "quiet s…school"
    texts = ["garden and cellar, well kept", "garden and cellar, well kept with lake view", "old"]
    assert cut_apart(texts, 14) == ["garden…l kept", "garden…e view", "old"]
    assert cut_apart(["aaaaaaaa1aaaaaaaa", "aaaaaaaa2aaaaaaaa"], 8) == ["aaaaaaaa1aaaaaaaa", "aaaaaaaa2aaaaaaaa"]
    assert cut_apart([], 8) == []


@pytest.mark.parametrize("first", [0, 1])
def test_the_steps_of_recall_end_where_thresholds_do(first):
    truth = np.array([first, 0, 1, 0, 0, 1], dtype=bool)  # by falling probability
    recall, precision = recall_steps(truth, np.linspace(1, 0, 6))
    assert np.sum(np.diff(recall) * precision[1:]) == pytest.approx(
        average_precision_score(truth, np.linspace(1, 0, 6))
    )
    assert precision[0] == (1 if first else 1 / 3)
    assert (recall[0], recall[-1], precision[-1]) == (0, 1, truth.mean())


@pytest.mark.parametrize(("largest", "words"), [(1.9, "largest weight is 1.90 times"), (9, "check them")])
def test_rows_of_a_nearly_uniform_weight_do_not_stand_out(largest, words):
    rows = (DecidingRow(4, largest / 100, "yes", ("2023-02-09",)), DecidingRow(7, 0.012, "no", ("2024-01-01",)))
    target = object.__new__(TargetResults)
    object.__setattr__(target, "name", "fraud")
    object.__setattr__(target, "influence", Influence(("sold",), rows, 0.01, 30, True))
    page = "".join(influence_section(target))
    assert words in page
    assert ('<td class="w">2023-02-09</td>' in page, "2024" in page) == (largest > 2, False)


def test_numbers_and_dates_are_not_broken_over_lines():
    page = html_table(["a", "b", "c"], [["−3.5", "2023-02-09 10:30", "12 rooms"]])
    assert page.count('class="w"') == 2


@pytest.mark.usefixtures("few")
def test_a_run_with_a_cost_has_the_threshold_for_it(tmp_path: Path):
    table, prices = houses(60)
    table.assign(dear=(prices > prices.median()).map({True: "yes", False: "no"})).to_csv(tmp_path / "t.csv")
    run, out = tmp_path / "run", tmp_path / "report.html"
    words = ("--target", "dear", "--mode", "in_context", "--cost", "1:20")
    assert command("fit", tmp_path / "t.csv", *words, "--out", run) == 0
    assert command("explain", run, "--report", out) == 0
    text = "".join(check_page(out.read_text()).itertext())
    assert (
        "The threshold that regard fit proposed for a cost of 1:20 (false alarm : miss), by other held-out rows" in text
    )
    assert "cost per row (1:20)" in text


@pytest.mark.usefixtures("few")
def test_command_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture):
    table, prices = houses(30)
    files = {name: tmp_path / f"{name}.csv" for name in ("train", "test", "new")}
    table.assign(price=prices).to_csv(files["train"], index=False)
    table[:15].assign(price=prices[:15]).to_csv(files["test"], index=False)
    table[:15].to_csv(files["new"], index=False)
    run, out = tmp_path / "run", tmp_path / "report.html"
    options = ("--mode", "in_context", "--time", "sold", "--ignore", "city")
    assert command("fit", files["train"], "--target", "price", "--out", run, *options) == 0
    assert command("explain", run, files["test"], "--report", out) == 0
    text = "".join(check_page(out.read_text()).itertext())
    assert f"the 15 rows of {files['test']}" in text
    assert f"regard predict {run} NEW.csv" in text
    assert f"regard fit {files['train']} --target price --ignore city --time sold --out {run}-trained" in text
    assert f"regard compare {files['train']} --target price --ignore city" in text
    capsys.readouterr()
    assert command("explain", run, files["new"], "--report", out) == 0
    assert "has no column 'price': training rows are held out instead" in capsys.readouterr().err
    assert "6 training rows, the last ones by 'sold'" in html.unescape(out.read_text())
    assert command("explain", run) == 2
    assert "needs a table whose row is explained, or --report FILE.html" in capsys.readouterr().err
    assert command("explain", run, "--report", tmp_path / "report.pdf") == 2
    assert "is written as .html, not .pdf" in capsys.readouterr().err


def test_proposed_commands_repeat_the_options_of_the_fit():
    estimator = SimpleNamespace(kinds={"id": "ignore", "who": "ignore", "b c": "category"}, weights=None)
    config = {"split": "--group who", "cost": "1:20", "scores": {"threshold_f1": 0.2}}
    options = FitOptions.of_run(config, estimator)
    assert options.of_fit() == " --ignore id --kind 'b c=category' --group who --cost 1:20"
    assert options.of_compare() == " --ignore id --kind 'b c=category' --group who"
    asked = FitOptions.of_run({"query": "select 1", "task": "regress"}, SimpleNamespace(kinds=None, weights=None))
    assert asked.of_compare() == " --task regress --query 'select 1'"
    assert FitOptions().of_fit() == ""
