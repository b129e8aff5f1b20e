"""Rows with weights: they count as often as they weigh, and none is predicted from its own copies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import regard
from regard.closed_form import Copies
from regard.export.graphs.table import table_graph
from regard.tables import NPTClassifier, NPTRegressor, retarget, small
from regard.tables.distillation.soft_labels import hard_labels
from regard.tables.distillation.student import Lesson
from regard.tables.encode.sample_weight import MAX_REPEATS, repeat_rows
from regard.tables.encode.table import EncodedTable, join
from regard.tables.finetune import RandomSplits
from regard.tables.folds import hold_out, split_folds
from regard.tables.network import learned_keys
from regard.tables.network.boosted_trees import grow_trees
from regard.tables.network.learned_keys import KeyBatch, LearnedKeysObjective
from regard.tables.network.level_means import LevelMeans
from regard.tables.network.masking import MaskedBatches, Masking, StandardisedTable

ESTIMATORS = [NPTClassifier, NPTRegressor]
QUICK = {"mode": "in_context", "members": 2, "random_state": 0}


def weighted_table(rows: int, classes: int = 2, columns: int = 3) -> EncodedTable:
    """Rows with one to four copies, side by side, and a target of noise."""
    rng = torch.Generator().manual_seed(0)
    source = torch.arange(rows).repeat_interleave(torch.randint(1, 5, (rows,), generator=rng))
    target = torch.randn(rows, generator=rng)
    if classes:
        target = torch.randint(0, classes, (rows,), generator=rng).float()
    values, category = torch.randn(rows, columns, generator=rng), torch.zeros(columns, dtype=torch.bool)
    return EncodedTable(values[source], category, target[source], classes, source)


def noise(kind: type, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features that tell nothing, a target, weights, and new rows."""
    rng = np.random.default_rng(0)
    x, new = rng.normal(size=(rows, 2)), rng.normal(size=(200, 2))
    if kind is NPTClassifier:
        target = rng.random(rows) < 0.12
        return x, target.astype(int), np.where(target, 9.0, 1.0), new
    target = rng.choice([0.0, 10.0], rows)
    return x, target, np.where(target > 5, 3.0, 1.0), new


def mean_prediction(model: Any, new: np.ndarray) -> float:
    """On a scale where the target goes from 0 to 1."""
    return float(
        model.predict_proba(new)[:, 1].mean() if hasattr(model, "classes_") else model.predict(new).mean() / 10
    )


@pytest.mark.usefixtures("real_reader")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("settings", [{"mode": "in_context"}, {"mode": "auto", "time_limit": 5.0}])
def test_noise_is_predicted_at_its_weighted_rate(kind: type, settings: dict):
    x, target, weights, new = noise(kind, 200)
    model = kind(members=2, random_state=0, **settings).fit(x, target, sample_weight=weights)
    expected = np.average(target, weights=weights) / target.max()
    assert mean_prediction(model, new) == pytest.approx(expected, abs=0.08)


@pytest.mark.usefixtures("real_reader")
@pytest.mark.parametrize("size", ["counts", "half"])
def test_weights_that_are_no_counts_do_the_same(size: str):
    x, target, weights, new = noise(NPTClassifier, 300)
    balanced = np.where(target == 1, 0.5 / target.mean(), 0.5 / (1 - target.mean()))
    model = NPTClassifier(**QUICK).fit(x, target, balanced if size == "counts" else weights / 2)
    expected = 0.5 if size == "counts" else np.average(target, weights=weights)
    assert mean_prediction(model, new) == pytest.approx(expected, abs=0.08)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_weights_of_one_change_nothing(kind: type):
    x, target, _, new = noise(kind, 60)
    plain, ones = kind(**QUICK).fit(x, target), kind(**QUICK).fit(x, target, np.ones(60))
    assert ones.tables_[0].source is None
    np.testing.assert_array_equal(ones.predict(new), plain.predict(new))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_run_with_weights_is_saved_loaded_and_exported(kind: type, tmp_path: Path):
    x, target, weights, new = noise(kind, 60)
    model = kind(**QUICK).fit(x, target, weights)
    model.save(tmp_path / "run")
    loaded = regard.load(tmp_path / "run")
    assert torch.equal(loaded.tables_[0].source, model.tables_[0].source)
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    graph = table_graph(model)
    with torch.no_grad():
        (output,) = graph.module(torch.from_numpy(model.columns_.encode(pd.DataFrame(new)).values))
    expected = model.predict_proba(new) if kind is NPTClassifier else model.predict(new)[:, None]
    np.testing.assert_allclose(output.numpy()[:, : expected.shape[1]], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_trained_predictors_are_saved_and_loaded(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(small, "_seconds_per_pass", lambda *_: 1e-3)
    monkeypatch.setattr(learned_keys, "MAX_STEPS", 3)
    monkeypatch.setattr("regard.tables.finetune.MAX_STEPS", 2)
    x, target, weights, new = noise(kind, 90)
    model = kind(members=1, random_state=0, time_limit=600.0).fit(x, target, weights)
    model.save(tmp_path / "run")
    np.testing.assert_allclose(regard.load(tmp_path / "run").predict(new), model.predict(new), rtol=1e-5)


def test_a_context_larger_than_one_pass_counts_the_copies_that_it_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.tables.ensemble.MAX_CONTEXT_ROWS", 60)
    monkeypatch.setattr("regard.tables.ensemble.MAX_STATISTICS_ROWS", 150)
    x, target, weights, new = noise(NPTRegressor, 120)
    model = NPTRegressor(**QUICK).fit(x, target, weights)
    assert np.isfinite(model.predict(new)).all()
    [reader] = model.predictors_[0].predictors
    contexts = reader.contexts
    for member in reader.members:
        assert len(member.context_rows) < len(member.statistics_rows) < len(model.rows_)
        fitted, read = (model.rows_[rows] for rows in (member.statistics_rows, member.context_rows))
        copies = contexts._copies([member.context_rows])[0]
        assert copies.tolist() == [float((read == row).sum()) for row in read]
        features = contexts._describe(member, member.context_rows, contexts.get([(0, -1)])[0].closed_forms)
        count = features.label_means[0, :, 0, 0, -1].mul(8).expm1().round()  # of equal cells, without copies
        assert (count == 0).all()
        assert (torch.stack([(fitted == row).sum() for row in read]) >= copies).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("mode", ["in_context", "auto"])
def test_one_row_may_have_all_the_weight(kind: type, mode: str):
    x, target, _, new = noise(kind, 40)
    model = kind(mode=mode, members=1, time_limit=1.0, random_state=0).fit(x, target, np.r_[1e9, np.ones(39)])
    assert len(model.rows_) == 40
    assert np.isfinite(model.predict(new)).all()


def test_rows_added_later_are_no_copies():
    x, target, weights, new = noise(NPTRegressor, 60)
    model = NPTRegressor(**QUICK).fit(x, target, weights)
    before = len(model.rows_)
    model.add(x[:5], target[:5])
    source = model.tables_[0].source
    assert not set(source[:before].tolist()) & set(source[before:].tolist())
    assert len(source[before:].unique()) == 5
    assert np.isfinite(model.predict(new)).all()


def test_another_column_as_the_target_has_the_same_weights():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    weights = 1.0 + np.arange(60) % 3
    model = NPTRegressor(**QUICK).fit(frame, pd.Series(rng.normal(size=60), name="y"), weights)
    other = retarget(model, "a")
    assert other.rows_.tolist() == model.rows_.tolist()
    assert torch.bincount(other.tables_[0].source).tolist() == weights.astype(int).tolist()
    assert len(other.keys_) == len(other.rows_)


def test_tables_are_joined_by_source():
    table = weighted_table(10)
    half = torch.arange(len(table.target)) % 2 == 0
    parts = [table.take(which.nonzero()[:, 0]) for which in (half, ~half)]
    assert join(parts).source.tolist() == [*table.source[half].tolist(), *table.source[~half].tolist()]
    others = join([table, replace(table, source=None)]).source
    assert others[: len(half)].tolist() == table.source.tolist()
    assert others.unique().numel() == 10 + len(half)
    assert join([replace(table, source=None)] * 2).source is None
    lesson = Lesson.of(hard_labels(table))
    assert lesson.join(lesson).source.tolist() == [*table.source.tolist()] * 2


def split(parts: tuple[EncodedTable, EncodedTable]) -> tuple[set[int], set[int]]:
    rest, held_out = ({*part.source.tolist()} for part in parts)
    return rest, held_out


@pytest.mark.parametrize("classes", [0, 3])
def test_copies_are_on_one_side_of_every_split(classes: int):
    table = weighted_table(400, classes)
    for parts in (*split_folds(table, 4, 0, 100), hold_out(table, 100, 0)):
        rest, held_out = split(parts)
        assert held_out
        assert not rest & held_out
    rest, held_out = hold_out(table, 100, 0)
    assert len(rest.target) + len(held_out.target) == len(table.target)  # all copies are kept, however many
    for step in range(5):
        for batch in RandomSplits(table, 0).batch(step):
            columns = batch.values[0][:, 0]
            assert not {*columns[: batch.context].tolist()} & {*columns[batch.context :].tolist()}
            assert len(batch.source) == batch.context
            assert 0.4 < batch.context / len(columns) < 0.95


def test_a_heavy_class_is_held_out_too():
    target = (torch.arange(4000) % 10 == 0).float()
    weights = torch.where(target == 1, 9, 1)
    source = torch.arange(4000).repeat_interleave(weights)
    values = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0))
    table = EncodedTable(values[source], torch.zeros(2, dtype=torch.bool), target[source], 2, source)
    _, held_out = hold_out(table, len(source) // 8, 0)
    assert held_out.target.mean() == pytest.approx(0.5, abs=0.1)


def test_learned_keys_hide_copies_while_they_are_trained():
    """What a row of a batch is predicted as does not depend on the label of its copies, nor its own."""
    table, heard = weighted_table(30), []

    class Listening(torch.nn.Module):
        def embed(self, rows: Any) -> torch.Tensor:
            return rows.numbers[:, 0]

        def forward(self, queries: Any, keys: Any, labels: torch.Tensor, mask: Any) -> torch.Tensor:
            heard.append(mask.allowed[0])
            return torch.full_like(labels, 0.5)

    labels = torch.nn.functional.one_hot(table.target.long(), 2).float()
    batch = KeyBatch(table.values[:, :, None], torch.zeros(len(labels), 0, dtype=torch.long), labels, table.source)
    LearnedKeysObjective(2).loss(Listening(), batch)
    assert torch.equal(heard[0], table.source[:, None] != table.source[None])


def test_levels_of_copies_are_encoded_from_other_folds():
    source = torch.arange(30).repeat_interleave(8)
    target = torch.randn(30, generator=torch.Generator().manual_seed(0)).double()[source]
    table = EncodedTable(source.float()[:, None], torch.tensor([True]), target, 0, source)
    assert LevelMeans.fit(table).cross_fit(table, 0).isnan().all()
    every = EncodedTable(torch.zeros(240, 1), torch.tensor([True]), target, 0, source)
    means = LevelMeans.fit(every).cross_fit(every, 0)[:, 0]
    assert len(means.unique()) > 1  # thirty rows are not frequent, though there are many copies
    for row in range(30):
        assert len(means[source == row].unique()) == 1


def test_trees_do_not_learn_copies_by_heart():
    """Noise stays noise: a leaf needs as many rows with weights as without."""
    table = weighted_table(300, 0)
    copies = table.copies()
    assert copies is not None
    trees, levels, residuals = grow_trees(table, replace(table, target=table.target.flip(0)), 600.0, 0)
    alone = table.take(copies.first)
    leaves = trees.leaves(levels.encode(alone.values))
    for leaf in leaves.T:
        assert leaf.unique(return_counts=True)[1].min() >= 20
    assert residuals.isfinite().all()


def test_copies_have_the_same_cells_masked():
    table = weighted_table(80, 0)
    standardised = StandardisedTable.fit(table)
    none = torch.zeros(len(table.target), dtype=torch.bool)
    batches = MaskedBatches(standardised, Masking(), 10, 0, none, 150, table.source)
    batch = batches.batch(0)
    _, place = batch.truth[0].unique(dim=0, return_inverse=True)
    copies = Copies.of(place)
    assert copies is not None
    for cells in (batch.masked[0], batch.predicted[0]):
        assert torch.equal(cells[copies.first][copies.group], cells)
    assert 0.1 < batch.predicted[0, :, -1].float().mean() < 0.5


def shares(weights: np.ndarray, seed: int = 0) -> tuple[np.ndarray, int]:
    """The share of each row among the rows that are made of it, and how many these are."""
    rows = repeat_rows(len(weights), weights, seed)
    return np.bincount(rows, minlength=len(weights)) / len(rows), len(rows)


@pytest.mark.parametrize(("rows", "rate"), [(50, 0.5), (400, 0.12), (400, 0.3), (1000, 0.02), (9000, 0.1), (9000, 0.4)])
def test_balanced_weights_balance(rows: int, rate: float):
    positive = np.arange(rows) < rate * rows
    achieved, count = shares(np.where(positive, 0.5 / positive.mean(), 0.5 / (1 - positive.mean())))
    assert achieved[positive].sum() == pytest.approx(0.5, abs=0.01)
    assert (achieved > 0).mean() > 0.9, "no row is given up that a few more would keep"
    assert count <= (2 * rows if rows > 3000 else 3000)


def test_any_weights_are_in_proportion_row_by_row_or_on_average():
    rng = np.random.default_rng(0)
    for weights in (
        rng.uniform(0.5, 1.5, 500),
        rng.exponential(size=500),
        np.full(500, 0.7),
        1 / (1.0 + rng.poisson(2, 500)),
    ):
        achieved, count = shares(weights)
        expected = weights / weights.sum()
        assert count <= MAX_REPEATS * 500
        assert np.abs(achieved - expected).sum() < 0.12
        heavy = weights > np.median(weights)
        assert achieved[heavy].sum() == pytest.approx(expected[heavy].sum(), abs=2 / count)
    assert repeat_rows(4, [0.5, 1.5, 0.5, 0.0], 0).tolist() == [0, 1, 1, 1, 2]
    assert repeat_rows(3, [0.7, 0.7, 0.7], 0).tolist() == [0, 1, 2]
