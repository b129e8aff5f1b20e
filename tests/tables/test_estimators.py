"""The estimators of tables: scikit-learn's contract, every kind of table, and what is kept of them."""

import io
import pickle
import shutil
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import regard
from regard.closed_form import ClosedForms, RowFeatures
from regard.core.errors import ConfigError, UserError
from regard.models.in_context import Context, InContextModel
from regard.models.npt import NPTModel
from regard.parts.taps import listen
from regard.tables import NPTClassifier, NPTImputer, NPTRegressor
from regard.tables.estimators import base
from regard.tables.network import in_context, scratch
from regard.tables.network.contexts import GLOBAL
from regard.tables.network.in_context import InContextPredictor, Members
from regard.tables.network.in_context_loss import MIN_PROBABILITY
from regard.tables.network.scratch import NPTPredictor
from tests.helpers import patience
from tests.tables.conftest import write_tiny_reader

ESTIMATORS = [NPTClassifier, NPTRegressor]
MODES = ["in_context", "auto", "scratch"]
QUICK = {"mode": "in_context", "members": 2, "random_state": 0}

# What training gives depends on how far it comes in its time, and many of the checks compare two fits.
NO_TIME = 1e-6

# What cannot hold for a network that reads its training rows in 32 bits.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "rows that a weight repeats are left out together, which equal "
    "rows of the table are not; and sums in 32 bits depend on the order of the rows",
    "check_do_not_raise_errors_in_init_or_set_params": "here, under test, every annotation is a check",
}


class Ignorant:
    """Random weights know nothing, so how well they predict is not asked."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


class IgnorantClassifier(Ignorant, NPTClassifier):
    pass


class IgnorantRegressor(Ignorant, NPTRegressor):
    pass


def failed(estimator: Any) -> dict[str, str]:
    results = check_estimator(estimator, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    assert len(results) > 40
    return {one["check_name"]: str(one["exception"]) for one in results if one["status"] == "failed"}


@pytest.mark.parametrize(
    "estimator",
    [
        IgnorantClassifier(mode="in_context", members=2),
        IgnorantRegressor(mode="in_context", members=2),
        IgnorantClassifier(mode="auto", members=1, time_limit=NO_TIME),
        IgnorantRegressor(mode="auto", members=1, time_limit=NO_TIME),
        NPTImputer(members=1),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{getattr(estimator, 'mode', '')}",
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks(estimator: Any):
    assert failed(estimator) == {}


@pytest.mark.usefixtures("real_reader")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_scikit_learns_own_checks_of_what_is_shipped(kind: type):
    assert failed(kind(mode="in_context", members=1)) == {}


def some_table(rows: int = 80, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A table of all kinds with gaps, its classes and its numbers."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "number": random.normal(size=rows),
        "whole": pd.array(random.integers(0, 9, rows), dtype="Int64"),
        "text": random.choice(["x", "y", "z"], rows),
        "category": pd.Categorical(random.choice(["lo", "hi"], rows), ["lo", "mid", "hi"]),
        "flag": pd.array(random.random(rows) > 0.5, dtype="boolean"),
        "date": pd.date_range("2024-01-01", periods=rows),
        "constant": 1.0,
        "empty": np.nan,
    })  # fmt: skip
    frame.loc[frame.index % 7 == 3, ["number", "text", "flag", "date"]] = None
    target = frame["number"].fillna(0).to_numpy() + (frame["text"] == "x").to_numpy()
    return frame, np.where(target > 0.3, "high", "low"), target


@pytest.mark.parametrize("mode", MODES)
def test_a_table_of_all_kinds_of_columns(mode: str):
    frame, labels, target = some_table()
    settings = {"mode": mode, "time_limit": 0.5, "members": 2, "random_state": 0}
    classifier = NPTClassifier(**settings).fit(frame, labels)
    probabilities = classifier.predict_proba(frame)
    assert probabilities.shape == (80, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-6)
    assert (probabilities >= 0).all()
    assert (classifier.predict(frame) == classifier.classes_[probabilities.argmax(1)]).all()
    regressor = NPTRegressor(**settings).fit(frame, target)
    bounds = regressor.predict(frame, quantiles=[0.1, 0.5, 0.9])
    assert np.isfinite(regressor.predict(frame)).all()
    assert (np.diff(bounds, axis=1) > 0).all()
    new = frame.head(3).assign(text="never seen", whole=pd.array([1000, -1000, None], dtype="Int64"))
    assert np.isfinite(regressor.predict(new)).all()
    assert np.isfinite(classifier.predict_proba(new)).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_same_table_in_other_hands_gives_the_same(kind: type):
    frame, labels, target = some_table()
    y = labels if kind is NPTClassifier else target
    numbers = frame[["number", "whole", "constant"]].astype(float)
    fitted = kind(**QUICK).fit(numbers, y)
    expected = fitted.predict(numbers)
    for other in (numbers.to_numpy(), numbers.to_numpy().tolist(), polars.from_pandas(numbers)):
        assert (kind(**QUICK).fit(other, y).predict(other) == expected).all()
    assert (fitted.predict(numbers[["whole", "constant", "number"]].assign(more=1)) == expected).all()
    assert (kind(**QUICK).fit(numbers, polars.Series("y", y)).predict(numbers) == expected).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (5, 500), (70, 1), (3, 2)], ids=str)
def test_tables_of_extreme_shapes(kind: type, mode: str, shape: tuple[int, int]):
    random = np.random.default_rng(0)
    table = random.normal(size=shape)
    y = np.arange(shape[0]) % 3 if kind is NPTClassifier else random.normal(size=shape[0])
    fitted = kind(mode=mode, time_limit=0.2, members=2, random_state=0).fit(table, y)
    assert fitted.predict(table).shape == (shape[0],)
    assert np.isfinite(fitted.predict(table[:1])).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_hundred_classes_and_one(mode: str):
    table = np.random.default_rng(0).normal(size=(300, 4))
    settings = {"mode": mode, "time_limit": 0.2, "members": 2, "random_state": 0}
    many = NPTClassifier(**settings).fit(table, np.arange(300) % 100)
    assert many.predict_proba(table[:7]).shape == (7, 100)
    one = NPTClassifier(**settings).fit(table, ["a"] * 300)
    assert (one.predict_proba(table) == 1).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_target_that_never_changes(mode: str):
    table = np.random.default_rng(0).normal(size=(70, 2))
    fitted = NPTRegressor(mode=mode, time_limit=0.2, members=2, random_state=0).fit(table, np.full(70, 7.0))
    assert np.isfinite(fitted.predict(table)).all()


def test_several_targets():
    frame, labels, target = some_table()
    numbers = pd.DataFrame({"a": target, "b": -target})
    both = NPTRegressor(**QUICK).fit(frame, numbers)
    assert both.target_names_ == ["a", "b"]
    assert both.predict(frame).shape == (80, 2)
    assert both.predict(frame, quantiles=[0.1, 0.5, 0.9]).shape == (80, 2, 3)
    np.testing.assert_allclose(both.predict(frame)[:, 0], NPTRegressor(**QUICK).fit(frame, target).predict(frame))
    classes = NPTClassifier(**QUICK).fit(frame, np.stack([labels, np.arange(80).astype(str)], 1))
    assert [own.shape for own in classes.predict_proba(frame)] == [(80, 2), (80, 80)]
    assert classes.predict(frame).shape == (80, 2)


def test_evidence_of_several_targets_is_that_of_each():
    frame, labels, target = some_table()
    both = NPTRegressor(**QUICK).fit(frame, pd.DataFrame({"a": target, "b": -target}))
    found = both.evidence(frame.head(3), top=4)
    assert [len(own) for own in found] == [3, 3]
    for own, numbers in zip(found, (target, -target), strict=True):
        alone = NPTRegressor(**QUICK).fit(frame, numbers).evidence(frame.head(3), top=4)
        for one, other in zip(own, alone, strict=True):
            pd.testing.assert_frame_equal(one.rows, other.rows)
            pd.testing.assert_frame_equal(one.columns, other.columns)
            assert one.prediction == other.prediction
    sizes = np.arange(80) % 3
    classes = NPTClassifier(**QUICK).fit(frame, pd.DataFrame({"label": labels, "size": sizes}))
    predicted = classes.predict(frame)
    assert set(predicted[:, 0]) <= set(labels)
    assert {type(one) for one in predicted[:, 1]} == {int}  # and not text for the labels' sake
    (first, second) = classes.evidence(frame.head(1), top=80)
    assert (first[0].rows["target"] == np.array(labels)[first[0].rows.index]).all()
    assert (second[0].rows["target"] == sizes[second[0].rows.index]).all()
    with pytest.raises(ConfigError, match="y, 'b': Unknown label type: continuous"):
        NPTClassifier(**QUICK).fit(frame, pd.DataFrame({"a": labels, "b": target}))
    with pytest.raises(ConfigError, match="mixes labels of several types"):
        NPTClassifier(**QUICK).fit(frame, np.array(["a", 1] * 40, dtype=object))
    with pytest.raises(ConfigError, match="top: must be at least 1, not 0"):
        both.evidence(frame, top=0)


def test_too_few_steps_are_told(monkeypatch: pytest.MonkeyPatch):
    frame, _, target = some_table()
    monkeypatch.setattr(scratch, "_fit_to_time", lambda _, batches, __: replace(batches, steps=3))
    with pytest.warns(ConvergenceWarning, match="time for 3 steps only"):
        NPTRegressor(mode="scratch", time_limit=600, random_state=0).fit(frame, target)


@pytest.mark.parametrize("mode", ["in_context", "scratch"])
def test_the_seed_decides(mode: str, monkeypatch: pytest.MonkeyPatch):
    frame, _, target = some_table()
    paced = lambda _, batches, __: replace(batches, steps=3)  # noqa: E731 (the clock must not decide)
    monkeypatch.setattr(scratch, "_fit_to_time", paced)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    settings = {"mode": mode, "members": 2, "time_limit": 600}
    first, second, other = (NPTRegressor(**settings, random_state=seed).fit(frame, target) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert (first.predict(frame) == second.predict(frame)).all()
    assert (first.predict(frame) != other.predict(frame)).any()


def test_a_row_that_counts_twice_is_there_twice():
    frame, labels, target = some_table()
    weights = np.arange(80) % 3
    weighted = NPTClassifier(**QUICK).fit(frame, labels, sample_weight=weights)
    repeated = frame.iloc[np.repeat(np.arange(80), weights)]
    expected = NPTClassifier(**QUICK).fit(repeated, np.repeat(labels, weights))
    for name in ("values", "target"):
        np.testing.assert_array_equal(getattr(weighted.tables_[0], name), getattr(expected.tables_[0], name))
    # Only that they are copies makes a difference: rows that are equal by themselves tell about each other.
    assert expected.tables_[0].source is None
    assert weighted.tables_[0].source.tolist() == np.repeat(np.arange(80), weights).tolist()
    # In the evidence it is one row, with the weight of both.
    (found,) = weighted.evidence(frame.head(1), top=80)
    assert sorted(found.rows.index) == np.flatnonzero(weights).tolist()
    assert found.rows["weight"].sum() == pytest.approx(1, abs=1e-5)
    assert (found.rows["target"] == labels[found.rows.index]).all()
    assert NPTRegressor(**QUICK).fit(frame, target, sample_weight=np.full(80, 0.3)).score(frame, target) < 1


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_table_is_read_once_for_each_view(kind: type, monkeypatch: pytest.MonkeyPatch):
    frame, labels, target = some_table()
    reads, read = [], InContextModel.encode_context

    def counted(self: InContextModel, features: RowFeatures, *arguments: Any) -> Any:
        reads.extend(features.cells)  # tables, of which several are read at once
        return read(self, features, *arguments)

    monkeypatch.setattr(InContextModel, "encode_context", counted)
    fitted = kind(mode="in_context", members=3, random_state=0).fit(frame, labels if kind is NPTClassifier else target)
    reads.clear()  # of the calibration
    first = fitted.predict(frame.head(1))
    assert len(reads) == 3
    for place in range(5):
        fitted.predict(frame.iloc[[place]])
    fitted.evidence(frame.head(2))
    assert len(reads) == 3
    assert (fitted.predict(frame.head(1)) == first).all()


def test_a_network_of_its_own_reads_the_table_once(monkeypatch: pytest.MonkeyPatch):
    frame, _, target = some_table()
    fitted = NPTRegressor(mode="scratch", time_limit=0.2, random_state=0).fit(frame, target)
    expected = fitted.predict(frame)
    monkeypatch.setattr(NPTModel, "encode_context", lambda *_: pytest.fail("it has been read"))
    np.testing.assert_allclose([fitted.predict(frame.iloc[[row]])[0] for row in range(80)], expected, atol=1e-4)


@pytest.mark.parametrize("classes", [3, 0])
def test_what_was_kept_answers_like_all_rows_at_once(classes: int):
    frame, _, target = some_table()
    y = np.digitize(target, [-0.5, 0.5]) if classes else target
    fitted = (NPTClassifier if classes else NPTRegressor)(mode="in_context", members=1, random_state=0).fit(frame, y)
    (reader,) = fitted.predictors_[0].predictors
    asked, (view,) = fitted._encode(some_table(9, seed=1)[0]), reader.members
    with torch.inference_mode():
        together = torch.cat([view.select(reader.table.values), view.select(asked)], 1)
        category = reader.table.category[view.columns][None]
        whole = reader.model(together, category, view.encode_target(reader.table.target), classes, view.column_codes)
        ((_, part),) = reader.passes(0, asked)
        features = RowFeatures.of_queries(part.closed_forms, view.select(asked))
        kept = reader.model.predict(part.encoded, part.in_order(features))
    torch.testing.assert_close(kept, whole, rtol=1e-5, atol=1e-5)
    one_by_one = torch.cat([reader.predict(row[None]) for row in asked])
    torch.testing.assert_close(one_by_one, reader.predict(asked), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "found"), [(NPTClassifier, 1), (NPTRegressor, 2)])
def test_closed_forms_are_solved_once_for_views_that_see_alike(kind: type, found: int, monkeypatch: pytest.MonkeyPatch):
    """One order of two classes, and two scales of numbers, in eight views."""
    frame, labels, target = some_table()
    fitted = kind(mode="in_context", members=8, random_state=0).fit(frame, labels if kind is NPTClassifier else target)
    alone = torch.stack([
        InContextPredictor(reader.model, reader.table, Members(1, number), fitted.seed_).predict(fitted._encode(frame))
        for reader in fitted.predictors_[0].predictors
        for number in range(8)
    ])  # fmt: skip
    solved, fit = [], ClosedForms.fit.__func__
    monkeypatch.setattr(ClosedForms, "fit", classmethod(lambda cls, *given: solved.append(0) or fit(cls, *given)))
    (reader,) = fitted.predictors_[0].predictors
    together = reader.predict(fitted._encode(frame))
    assert len(solved) == found
    torch.testing.assert_close(together, alone.mean(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [NPTClassifier, NPTRegressor])
def test_few_rows_are_predicted_by_all_members_at_once(kind: type, monkeypatch: pytest.MonkeyPatch):
    """Before and after, the members predict more rows one by one, from the same memory."""
    frame, labels, target = some_table()
    fitted = kind(mode="in_context", members=3, random_state=0).fit(frame, labels if kind is NPTClassifier else target)
    (reader,) = fitted.predictors_[0].predictors
    few = in_context.FEW_ROWS
    monkeypatch.setattr(in_context, "FEW_ROWS", 0)
    expected = reader.predict(fitted._encode(frame))
    monkeypatch.setattr(in_context, "FEW_ROWS", few)
    stacks = Mock(side_effect=Context.stack)
    monkeypatch.setattr(Context, "stack", stacks)
    for rows in (slice(0, 1), slice(5, 9), slice(1, 33)):
        torch.testing.assert_close(reader.predict(fitted._encode(frame[rows])), expected[rows], rtol=1e-6, atol=1e-6)
    assert stacks.call_count == 1
    monkeypatch.setattr(in_context, "FEW_ROWS", 0)
    assert torch.equal(reader.predict(fitted._encode(frame)), expected)
    first, second = (reader.contexts.get([(number, GLOBAL)])[0].encoded.keys for number in range(2))
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


class TestLargeTables:
    """More rows than are read at once: the second view answers a row from its neighbourhood."""

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("regard.tables.ensemble.MAX_CONTEXT_ROWS", 60)
        monkeypatch.setattr("regard.tables.network.local_context.MAX_CLUSTERS", 20)

    @pytest.mark.parametrize("kind", [NPTClassifier, NPTRegressor])
    def test_a_row_is_answered_alone_as_among_others(self, kind: type):
        frame, labels, target = some_table(400)
        fitted = kind(mode="in_context", members=4, random_state=0).fit(
            frame, labels if kind is NPTClassifier else target
        )
        asked, (reader,) = fitted._encode(some_table(30, seed=1)[0]), fitted.predictors_[0].predictors
        one_by_one = torch.cat([reader.predict(row[None]) for row in asked])
        torch.testing.assert_close(one_by_one, reader.predict(asked), rtol=1e-4, atol=1e-4)

    def test_every_asked_row_is_answered_once_and_sees_its_neighbours(self):
        frame, labels, _ = some_table(400)
        fitted = NPTClassifier(mode="in_context", members=2, random_state=0).fit(frame, labels)
        asked, (reader,) = fitted._encode(some_table(30, seed=1)[0]), fitted.predictors_[0].predictors
        whole, local = list(reader.passes(0, asked)), list(reader.passes(1, asked))
        assert len(whole) == 1 < len(local)
        assert sorted(torch.cat([rows for rows, _ in local]).tolist()) == list(range(30))
        for _, part in local:
            assert len(part.rows) <= 60
            assert len(part.rows.unique()) == len(part.rows)

    def test_a_row_of_the_table_lies_in_the_neighbourhood_that_it_is_answered_from(self):
        frame, labels, _ = some_table(400)
        fitted = NPTClassifier(mode="in_context", members=2, random_state=0).fit(frame, labels)
        (reader,) = fitted.predictors_[0].predictors
        inside = [row in part.rows for rows, part in reader.passes(1, reader.table.values) for row in rows]
        assert np.mean(inside) > 0.8  # the middles overlap, but not perfectly

    def test_rows_that_are_not_read_are_counted(self):
        """A row is predicted by one that is like it, though no member reads that one."""
        frame, _, target = some_table(400)
        fitted = NPTRegressor(mode="in_context", members=1, random_state=0).fit(frame, target)
        fitted = gated(fitted, 40.0)
        (reader,) = fitted.predictors_[0].predictors
        ((_, part),) = reader.passes(0, reader.table.values[:1])
        assert sorted(part.statistics_rows.tolist()) == list(range(400))
        unread = next(row for row in range(400) if row not in part.rows)
        weights = reader.row_weights(fitted._encode(frame.iloc[[unread]]))[0]
        assert weights.argmax() == unread
        assert weights.sum() == pytest.approx(1, abs=1e-4)

    def test_closed_forms_of_context_rows_are_leave_one_out(self):
        frame, _, target = some_table(400)
        (reader,) = (
            NPTRegressor(mode="in_context", members=1, random_state=0).fit(frame, target).predictors_[0].predictors
        )
        ((_, part),) = reader.passes(0, reader.table.values[:1])
        read = reader.table.take(part.rows)
        truth, predicted = (
            reader.members[0].encode_target(read.target)[0],
            part.closed_forms.leave_one_out[0, :, :, 0],
        )
        assert len(predicted) == len(part.rows)
        assert (np.corrcoef(torch.cat([predicted, truth[:, None]], 1).T.numpy())[2, :2] > 0.5).all()

    def test_what_is_counted_once_holds_for_any_order_of_classes(self):
        """Of numbers alone, where nothing is said of the first few classes by themselves."""
        frame = np.random.default_rng(0).normal(size=(400, 3))
        fitted = NPTClassifier(mode="in_context", members=3, random_state=0).fit(frame, np.arange(400) % 5)
        (reader,) = fitted.predictors_[0].predictors
        for number in (0, 2):  # between them is the view of neighbourhoods
            view = reader.members[number]
            ((_, part),) = reader.passes(number, reader.table.values[:1])
            own = reader.contexts._fit(view, view.statistics_rows)
            expected = own.subset(torch.searchsorted(view.statistics_rows, view.context_rows))
            rows = view.select(reader.table.values[view.context_rows])
            found = part.in_order(RowFeatures.of_queries(part.closed_forms, rows))
            assert part.class_order is not None
            torch.testing.assert_close(
                part.closed_forms.leave_one_out[..., part.class_order], expected.leave_one_out, atol=1e-3, rtol=0
            )
            torch.testing.assert_close(found.label_means, RowFeatures.of_queries(own, rows).label_means)

    def test_evidence_still_sums_to_one(self):
        frame, labels, _ = some_table(400)
        fitted = NPTClassifier(mode="in_context", members=2, random_state=0).fit(frame, labels)
        for found in fitted.evidence(some_table(5, seed=1)[0], top=400):
            assert found.rows["weight"].sum() == pytest.approx(1, abs=1e-4)

    def test_what_was_read_of_neighbourhoods_is_kept_beside_the_views(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("regard.tables.network.contexts.MAX_CONTEXTS", 4)
        monkeypatch.setattr("regard.tables.network.contexts.MAX_CLUSTERS", 20)
        frame, labels, _ = some_table(400)
        fitted = NPTClassifier(mode="in_context", members=4, random_state=0).fit(frame, labels)
        fitted.predict(frame)
        monkeypatch.setattr(InContextModel, "encode_context", lambda *_: pytest.fail("it has been read"))
        fitted.predict(frame)

    def test_very_many_classes_are_read_and_asked_in_smaller_parts(self, monkeypatch: pytest.MonkeyPatch):
        classes, columns = 60, 4
        monkeypatch.setattr("regard.tables.ensemble.MAX_LABEL_STATISTICS", 31 * classes * columns)
        monkeypatch.setattr(
            "regard.tables.network.in_context.CELLS_PER_PASS", 150 * (columns + 4) * (1 + classes // 30)
        )
        asked, see = [], InContextModel.embed_rows

        def counted(self: InContextModel, known: Any, features: RowFeatures) -> Any:
            asked.append(features.cells.shape[1])
            return see(self, known, features)

        monkeypatch.setattr(InContextModel, "embed_rows", counted)
        table = np.random.default_rng(0).normal(size=(400, columns))
        fitted = NPTClassifier(mode="in_context", members=2, random_state=0).fit(table, np.arange(400) % classes)
        (reader,) = fitted.predictors_[0].predictors
        for _, part in reader.passes(1, reader.table.values):
            assert len(part.rows) <= 31
        reader.predict(reader.table.values)
        assert max(asked) == 128, "whole blocks"


def gated(fitted: Any, bias: float) -> Any:
    """The estimator with a gate that is fully open or closed for kernel ridge."""
    (reader,) = fitted.predictors_[0].predictors
    reader.model = deepcopy(reader.model)
    torch.nn.init.zeros_(reader.model.gate.weight)
    torch.nn.init.constant_(reader.model.gate.bias, bias)
    return fitted


def test_evidence_is_label_attention_if_the_gate_is_closed():
    frame, labels, _ = some_table()
    fitted = NPTClassifier(mode="in_context", members=3, random_state=0).fit(frame, labels)
    fitted = gated(fitted, -40.0)
    asked = some_table(70, seed=1)[0]
    probabilities = fitted.predict_proba(asked)
    for found, own in zip(fitted.evidence(asked, top=80), probabilities, strict=True):
        weights = found.rows["weight"]
        assert weights.sum() == pytest.approx(1, abs=1e-5)
        assert (weights.diff().dropna() <= 0).all()
        if found.own_row is not None:  # which has a part in the prediction, but not in the evidence
            continue
        shares = np.array([weights[found.rows["target"] == label].sum() for label in fitted.classes_])
        np.testing.assert_allclose(shares * (1 - MIN_PROBABILITY) + MIN_PROBABILITY / 2, own, atol=1e-5)
        assert found.prediction == fitted.classes_[own.argmax()]
        assert found.base + found.columns["effect"].sum() == pytest.approx(own.max(), abs=1e-4)
        assert sorted(found.columns.index) == sorted(frame.columns)


def test_evidence_is_that_of_kernel_ridge_if_the_gate_is_open():
    frame, labels, _ = some_table()
    fitted = gated(NPTClassifier(mode="in_context", members=1, random_state=0).fit(frame, labels), 40.0)
    twin = frame.iloc[[5]]
    (found,) = fitted.evidence(twin, top=80)
    assert found.own_row == 5
    assert found.rows["weight"].sum() == pytest.approx(1, abs=1e-5)
    (reader,) = fitted.predictors_[0].predictors
    ((_, part),) = reader.passes(0, fitted._encode(twin))
    shares = part.closed_forms.label_weights(reader.members[0].select(fitted._encode(twin)))[0, 0]
    assert shares.argmax() == 5  # nothing resembles a row more than itself
    shares[5] = 0
    np.testing.assert_allclose(found.rows["weight"], (shares / shares.sum()).numpy()[found.rows.index], atol=1e-6)


def test_evidence_shows_the_known_rows_as_they_were():
    frame, _, target = some_table()
    (found,) = NPTRegressor(**QUICK).fit(frame, target).evidence(frame.head(1), top=4)
    assert len(found.rows) == 4
    for number, row in found.rows.iterrows():
        assert row["target"] == target[number]
        assert row["whole"] == frame["whole"][number]
        known = frame["number"][number]
        assert row["number"] is None if np.isnan(known) else row["number"] == pytest.approx(known, abs=1e-6)
        text = frame["text"][number]
        assert pd.isna(row["text"]) if pd.isna(text) else row["text"] == text


def test_evidence_of_a_network_of_the_tables_own_is_what_it_looked_at():
    frame, _, target = some_table()
    fitted = NPTRegressor(mode="scratch", time_limit=0.1, transductive=True, random_state=0)
    fitted.fit(frame.head(60), target[:60], unlabelled=frame.tail(20))
    learned = fitted.predictors_[0]
    assert isinstance(learned, NPTPredictor)
    asked = fitted._encode(frame.tail(3))
    with listen(learned.model) as heard:
        learned.predict(asked)
    patterns = [pattern[0].mean(0) for name, pattern in heard.items() if name.startswith("rows.")]
    assert len(patterns) == learned.model.config.layers
    looked = torch.stack(patterns).mean(0)  # asked, and the known rows in the order of `shown`
    torch.testing.assert_close(looked.sum(1), torch.ones(3))
    for own, found in zip(looked, fitted.evidence(frame.tail(3), top=60), strict=True):
        expected = {int(row): float(weight) for row, weight in zip(learned.context_rows, own, strict=True) if row < 60}
        assert expected == pytest.approx(dict(zip(found.rows.index, found.rows["weight"], strict=True)), rel=1e-5)
        assert found.base + found.columns["effect"].sum() == pytest.approx(found.prediction, rel=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_what_is_saved_answers_the_same(kind: type, mode: str, tmp_path: Path):
    frame, labels, target = some_table()
    y = pd.Series(labels if kind is NPTClassifier else target, name="what")
    fitted = kind(mode=mode, time_limit=0.5, members=2, random_state=0).fit(frame, y)
    expected = fitted.predict_proba(frame) if kind is NPTClassifier else fitted.predict(frame, quantiles=[0.2, 0.9])
    clone(fitted)
    fitted.set_params(members=np.int64(2)).save(tmp_path / "run")  # as a search over settings has it
    pickled = pickle.loads(pickle.dumps(fitted))
    for other in (regard.load(tmp_path / "run"), pickled):
        assert type(other) is kind
        assert other.target_names_ == ["what"]
        assert list(other.feature_names_in_) == list(frame.columns)
        found = other.predict_proba(frame) if kind is NPTClassifier else other.predict(frame, quantiles=[0.2, 0.9])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        pd.testing.assert_frame_equal(*(one.evidence(frame.head(1))[0].rows for one in (other, fitted)))
    with pytest.raises(UserError, match="already holds a run"):
        fitted.save(tmp_path / "run")
    fitted.save(tmp_path / "run", overwrite=True)


def test_a_pickle_holds_nothing_that_was_read():
    frame, labels, _ = some_table(500)
    fitted = NPTClassifier(**QUICK).fit(frame, labels)
    before = len(pickle.dumps(fitted))
    fitted.predict(frame)
    assert len(pickle.dumps(fitted)) == before


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1],
        [2.0, 1.0],
        [True, False],
        ["b", "ä"],
        np.array(["b", "a"], dtype=object),
        [np.datetime64("2024-01-01")] * 2,
    ],
    ids=str,
)
def test_labels_of_every_kind_are_saved(labels: Any, tmp_path: Path):
    y = np.array([labels[0], labels[1]] * 4)
    fitted = NPTClassifier(**QUICK).fit(np.arange(8.0)[:, None], y)
    fitted.save(tmp_path / "run")
    loaded = regard.load(tmp_path / "run")
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert (loaded.predict(np.arange(8.0)[:, None]) == fitted.predict(np.arange(8.0)[:, None])).all()


@pytest.mark.parametrize(
    "damage", ["seed: x", "estimator: Nobody", "targets: 3", "model: [[{}]]", "settings: {members: a, z: 1}"]
)
def test_a_damaged_folder_is_one_line(damage: str, tmp_path: Path):
    frame, labels, _ = some_table()
    NPTClassifier(**QUICK).fit(frame, labels).save(tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    kept = [line for line in config.read_text().splitlines() if not line.startswith(damage.split(":")[0] + ":")]
    config.write_text("\n".join([*kept, damage]))
    with pytest.raises(UserError, match=r"config\.yaml"):
        regard.load(tmp_path / "run")


def test_unlabelled_rows_are_learned_from_and_kept(tmp_path: Path):
    frame, _, target = some_table()
    more = some_table(30, seed=1)[0].assign(text="new")
    fitted = NPTRegressor(mode="scratch", time_limit=0.3, transductive=True, random_state=0)
    fitted.fit(frame, target, unlabelled=more)
    fitted.save(tmp_path / "run")
    np.testing.assert_allclose(regard.load(tmp_path / "run").predict(more), fitted.predict(more), rtol=1e-6)
    with pytest.raises(ConfigError, match="one needs the other"):
        fitted.fit(frame, target)


@pytest.mark.parametrize("mode", ["auto", "scratch"])
@pytest.mark.parametrize("limit", [0.001, 1.5])
def test_the_time_limit_is_kept(mode: str, limit: float):
    table = np.random.default_rng(0).normal(size=(400, 10))
    began = time.monotonic()
    NPTRegressor(mode=mode, time_limit=limit, members=2, random_state=0).fit(table, table[:, 0])
    assert time.monotonic() - began < 1.5 * limit + patience(3)  # one step and what surrounds it


def test_trained_quantiles_cover_what_was_never_learned(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scratch, "_fit_to_time", lambda model, batches, _: replace(batches, batch_rows=256, steps=40))
    random = np.random.default_rng(0)
    table, noise = random.normal(size=(600, 3)), random.normal(size=600)
    y = table[:, 0] + noise
    fitted = NPTRegressor(mode="scratch", time_limit=36_000, random_state=0).fit(table[:400], y[:400])
    low, high = fitted.predict(table[400:], quantiles=[0.1, 0.9]).T
    assert 0.6 < ((low < y[400:]) & (y[400:] < high)).mean() < 0.95


def test_trained_looks_at_rows_of_all_parts_of_a_sorted_table():
    y = np.sort(np.random.default_rng(0).normal(size=6000))
    fitted = NPTRegressor(mode="scratch", time_limit=0.1, random_state=0).fit(y[:, None], y)
    network = fitted.predictors_[0]
    assert (network.table.cells[network.context_rows][:, -1] > 0).float().mean() == pytest.approx(0.5, abs=0.25)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "in context"}, "mode: unknown mode 'in context'; did you mean 'in_context'"),
        ({"time_limit": 0}, "time_limit: "),
        ({"time_limit": float("inf")}, "time_limit: "),
        ({"members": 0}, "members: "),
        ({"n_jobs": 0}, "n_jobs: "),
        ({"kinds": {"nmber": "category"}}, "did you mean 'number'"),
        ({"transductive": True}, "one needs the other"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict, message: str):
    frame, labels, _ = some_table()
    with pytest.raises(ConfigError) as error:
        NPTClassifier(**settings).fit(frame, labels)
    assert message in str(error.value)


def test_quantiles_that_are_none():
    frame, _, target = some_table()
    with pytest.raises(ConfigError, match="quantiles: "):
        NPTRegressor(**QUICK).fit(frame, target).predict(frame, quantiles=[2.0, 1.0])


def test_quantiles_may_be_an_array():
    frame, _, target = some_table()
    fitted = NPTRegressor(**QUICK).fit(frame, target)
    levels = [0.1, 0.9]
    assert (fitted.predict(frame, quantiles=np.array(levels)) == fitted.predict(frame, quantiles=levels)).all()


def test_threads_are_as_before(monkeypatch: pytest.MonkeyPatch):
    frame, labels, _ = some_table()
    seen = []
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    NPTClassifier(**QUICK, n_jobs=2).fit(frame, labels)
    assert set(seen[::2]) == {2}
    assert set(seen[1::2]) == {torch.get_num_threads()}
    assert len(seen) % 2 == 0
    seen.clear()
    NPTClassifier(**QUICK).fit(frame, labels)
    assert seen == [], "what nobody set need not be set back, over what another thread chose meanwhile"


def test_the_weights_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("regard.tables.network.pretrained.FOLDER", tmp_path)
    with pytest.raises(UserError, match="mode scratch"):
        NPTClassifier(**QUICK).fit([[1.0], [2.0]], [0, 1])


def test_the_weights_are_loaded_once_for_all_targets(monkeypatch: pytest.MonkeyPatch):
    frame, _, target = some_table()
    load = Mock(side_effect=base.pretrained_model)
    monkeypatch.setattr(base, "pretrained_model", load)
    NPTRegressor(**QUICK).fit(frame, np.stack([target, -target], 1))
    assert load.call_count == 1


def test_weights_of_ones_own_are_used_and_kept(tmp_path: Path):
    frame, labels, _ = some_table()
    (tmp_path / "own").mkdir()
    own = write_tiny_reader(tmp_path / "own", seed=1)
    pretrained = NPTClassifier(**QUICK).fit(frame, labels).predict_proba(frame)
    fitted = NPTClassifier(**QUICK, weights=own).fit(frame, labels)
    assert not np.allclose(fitted.predict_proba(frame), pretrained, atol=1e-6)
    fitted.save(tmp_path / "run")
    shutil.rmtree(own)
    assert np.array_equal(regard.load(tmp_path / "run").predict_proba(frame), fitted.predict_proba(frame))


def test_what_holds_no_reader_of_tables_is_named(tmp_path: Path):
    from_text = tmp_path / "text"
    from_text.mkdir()
    (from_text / "config.yaml").write_text("model: {kind: GPT, width: 8}\n")
    for folder, words in (
        (from_text, "config.yaml: is not a run of `regard pretrain tables`"),
        (tmp_path / "no", "no"),
    ):
        with pytest.raises(UserError, match=words):
            NPTClassifier(**QUICK, weights=folder).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(UserError, match="does not use any"):
        NPTClassifier(mode="scratch", weights=from_text).fit([[1.0], [2.0]], [0, 1])


def test_a_run_can_be_written_to_a_file_object_by_joblib():
    import joblib

    frame, labels, _ = some_table()
    fitted, kept = NPTClassifier(**QUICK).fit(frame, labels), io.BytesIO()
    joblib.dump(fitted, kept)
    kept.seek(0)
    assert (joblib.load(kept).predict(frame) == fitted.predict(frame)).all()


@pytest.mark.usefixtures("real_reader")
def test_what_is_shipped_knows_how_tables_are():
    table, y = load_iris(return_X_y=True)
    assert cross_val_score(NPTClassifier(mode="in_context", random_state=0), table, y, cv=3).mean() > 0.9
    table, y = load_diabetes(return_X_y=True)
    assert cross_val_score(NPTRegressor(mode="in_context", random_state=0), table, y, cv=3).mean() > 0.35
