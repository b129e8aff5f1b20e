"""Distillation: what a student learns from, what its folder holds and does not hold, and what is refused."""

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

import regard
from regard.core import tensors
from regard.core.errors import ConfigError, UserError
from regard.tables import DistilledClassifier, DistilledRegressor, NPTClassifier, NPTRegressor, distil
from regard.tables.distillation import trees as student_trees
from regard.tables.distillation.anonymous import anonymous_columns, between_cells, group_means, shortest_between
from regard.tables.distillation.distil import _first_rows
from regard.tables.distillation.mix import mix_rows
from regard.tables.distillation.mlp import train_student
from regard.tables.distillation.soft_labels import Labelled, blend, hard_labels, out_of_fold
from regard.tables.distillation.student import Lesson, StudentPredictor, common_shape
from regard.tables.distillation.trees import grow_student
from regard.tables.encode.table import EncodedTable
from regard.tables.rare_class import rare_class
from regard.view.open_run import OpenRun
from tests.command import regard as command

ROWS = 80


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.tables.distillation.mlp.MIN_STEPS", 20)
    monkeypatch.setattr("regard.tables.distillation.mlp.EPOCHS", 1)
    monkeypatch.setattr("regard.tables.distillation.trees.MAX_ROUNDS", 50)
    monkeypatch.setattr("regard.tables.distillation.distil.SHARES", (1.0,))
    monkeypatch.setattr("regard.tables.distillation.soft_labels.FOLDS", 2)


def private_table(rows: int = ROWS) -> pd.DataFrame:
    """Every row has a name, a note, a date and numbers of its own, and some a city that no other has."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "name": [f"Person-{number * 7919}" for number in range(rows)],
        "note": [f"met{number * 31}a on day{number * 17}x, was{number * 13}b pleased" for number in range(rows)],
        "city": [f"Hamlet{row}" if row % 10 == 0 else ("Rome", "Oslo")[row % 2] for row in range(rows)],
        "income": rng.normal(4e4, 9e3, rows).round(3),
        "born": pd.Timestamp("1950-03-01") + pd.to_timedelta(rng.permutation(rows) * 37, unit="D"),
        "paid": rng.normal(7e3, 1e3, rows).round(4),
    })  # fmt: skip


def fitted(kind: type = NPTRegressor, rows: int = ROWS) -> NPTRegressor | NPTClassifier:
    table = private_table(rows)
    target = table.pop("paid")
    if kind is NPTClassifier:
        target = pd.Series(np.where(target > target.quantile(0.7), "much", "little"), name="paid")
    return kind(mode="in_context", members=1, random_state=0).fit(table, target)


@lru_cache
def student_of(kind: type, to: str) -> DistilledClassifier | DistilledRegressor:
    """Made once: tests only read it."""
    return distil(fitted(kind), to)


def values_in(folder: Path) -> np.ndarray:
    parts = [tensors.load(file) for file in folder.glob("*.safetensors")]
    return np.concatenate([each.double().flatten().numpy() for part in parts for each in part.values()])


@pytest.mark.parametrize("to", ["tree", "mlp"])
@pytest.mark.parametrize("kind", [NPTRegressor, NPTClassifier])
def test_no_cell_of_a_training_row_is_in_the_folder(to, kind, tmp_path: Path):
    table = private_table()
    student_of(kind, to).save(tmp_path / "small")
    files = b"".join(file.read_bytes() for file in (tmp_path / "small").iterdir())
    words = [*table["name"], *table["note"], *table["born"].dt.strftime("%Y-%m-%d")]
    words += [word for word in table["note"].str.split().explode() if word[0] in "mdw" and word != "day"]
    words += [city for city in table["city"] if city.startswith("Hamlet")]
    words += [repr(number) for number in [*table["income"], *table["paid"]]]
    assert [word for word in words if word.encode() in files] == []
    assert b"Oslo" in files  # a level of many rows is kept
    stored = values_in(tmp_path / "small")
    days = (table["born"] - pd.Timestamp("1970-01-01")).dt.days
    for number in [*table["income"], *table["paid"], *days[days > 1000]]:
        assert not np.isclose(stored, number, rtol=1e-7, atol=0).any(), number
    assert not (tmp_path / "small" / "table.safetensors").exists()


@pytest.mark.parametrize("to", ["tree", "mlp"])
@pytest.mark.parametrize("kind", [NPTRegressor, NPTClassifier])
def test_a_student_predicts_the_same_from_its_folder(to, kind, tmp_path: Path):
    student = student_of(kind, to)
    student.save(tmp_path / "small")
    loaded, rows = regard.load(tmp_path / "small"), private_table().drop(columns="paid").iloc[:9]
    assert type(loaded) is (DistilledClassifier if kind is NPTClassifier else DistilledRegressor)
    for before, after in zip(student._predictions(rows), loaded._predictions(rows), strict=True):
        assert torch.equal(before, after)
    assert student.comparisons_[0].rows == pytest.approx(ROWS / 5, abs=2)
    with pytest.raises(UserError, match="no training rows"):
        loaded.evidence(rows)
    with pytest.raises(ConfigError, match="not fitted"):
        loaded.fit(rows, np.zeros(9))
    with pytest.raises(ConfigError, match="distilled itself"):
        distil(loaded)


def test_rare_levels_and_names_count_as_never_seen():
    student = student_of(NPTRegressor, "tree")
    rows = private_table().drop(columns="paid").iloc[[0, 0, 0]].reset_index(drop=True)
    rows.loc[1, "city"] = "Atlantis"
    rows.loc[2, "city"] = "Rome"
    rare, unknown, _ = student.predict(rows)
    assert rare == unknown
    categories = {column.name: column.categories for column in student.columns_.columns}
    assert categories["city"] == ("Oslo", "Rome")
    assert categories["name"] == () == categories["note"]


def test_a_repeated_row_does_not_make_its_level_frequent():
    table = private_table()
    target = table.pop("paid")
    weights = np.where(np.arange(ROWS) == 10, 20.0, 1.0)
    estimator = NPTRegressor(mode="in_context", members=1, random_state=0).fit(table, target, sample_weight=weights)
    rows, values = estimator.rows_, estimator.tables_[0].values
    assert len(rows) > ROWS
    columns, _ = anonymous_columns(estimator.columns_, values, _first_rows(rows))
    assert "Hamlet10" not in {level for column in columns.columns for level in column.categories}


class Memory:
    """A teacher that knows its rows by heart, and nothing else."""

    attends_to_labels = True

    def __init__(self, table: EncodedTable):
        self.table = table

    def predict(self, values: torch.Tensor) -> torch.Tensor:
        distance = torch.cdist(values, self.table.values)
        assert distance.min() > 0, "a row is its own evidence"
        return self.table.target[distance.argmin(1)].double()[:, None].expand(-1, 4)


def test_soft_labels_are_those_of_the_other_folds():
    values = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    table = EncodedTable(values, torch.zeros(2, dtype=torch.bool), torch.arange(40.0).double(), 0)
    labelled = out_of_fold(lambda rest, seconds: Memory(rest), table, seed=0, seconds=1.0)
    assert len(labelled) == 40
    assert (labelled.prediction[:, 0] != table.target).all()
    repeated = table.take(torch.tensor([*range(40), *range(10)]))  # equal rows must not teach each other
    assert len(out_of_fold(lambda rest, seconds: Memory(rest), repeated, seed=0, seconds=1.0)) == 50


def test_blending_ends_at_the_true_labels():
    table = EncodedTable(torch.zeros(3, 1), torch.tensor([False]), torch.tensor([0.0, 2.0, 1.0]), 3)
    soft = torch.full((3, 3), 1 / 3)
    assert torch.equal(blend(table, soft, 0.0).prediction, hard_labels(table).prediction)
    assert torch.equal(blend(table, soft, 1.0).prediction, soft)
    numbers = replace(table, classes=0, target=table.target.double())
    predicted = torch.tensor([[1.0, 0.0, 2.0]]).double().expand(3, -1)
    assert torch.equal(blend(numbers, predicted, 0.0).prediction[:, 0], numbers.target)


def test_soft_classes_are_the_weights_of_scikit_learn():
    rng = np.random.default_rng(0)
    values = torch.from_numpy(rng.normal(size=(200, 2)).astype(np.float32))
    targets = torch.from_numpy(rng.dirichlet(np.ones(3), 200))
    lesson = Lesson(values, torch.tensor([False, False]), targets, 3)
    student, _ = student_trees._grow(lesson, 0, lesson, [25])
    model = HistGradientBoostingClassifier(**{**student_trees._settings(0, 30), "max_iter": 25})
    model.fit(np.repeat(values.double().numpy(), 3, 0), np.tile(range(3), 200), targets.flatten().numpy())
    expected = model.predict_proba(values.double().numpy())
    assert student.outputs(values).softmax(1).numpy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("learn", [grow_student, train_student])
def test_students_learn(learn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.tables.distillation.mlp.MIN_STEPS", 200)
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=300), rng.integers(0, 3, 300)], 1)
    mean = np.sin(values[:, 0]) + values[:, 1]
    spread = np.array([0.1, 0.3, 0.9])[values[:, 1].astype(int)]
    quantiles = mean[:, None] + spread[:, None] * np.linspace(-1.5, 1.5, 33)
    target = torch.from_numpy(mean + spread * rng.normal(size=300))
    table = EncodedTable(torch.from_numpy(values).float(), torch.tensor([False, True]), target, 0)
    labelled = Labelled(table, torch.from_numpy(np.concatenate([mean[:, None], quantiles], 1)))
    first, rest = labelled.take(torch.arange(60)), labelled.take(torch.arange(60, 300))
    student, outputs = learn(Lesson.of(rest), Lesson.of(first), 0)
    predictor = StudentPredictor(student, 0, common_shape(first, outputs))
    predicted = predictor.predict(table.values).numpy()
    assert np.corrcoef(predicted[:, 0], mean)[0, 1] > 0.97
    assert (np.diff(predicted[:, 1:]) >= 0).all()
    inside = (target.numpy() > predicted[:, 2]) & (target.numpy() < predicted[:, -2])
    assert 0.75 < inside.mean() < 1.0
    wide = predicted[:, -1] - predicted[:, 1]
    assert wide[values[:, 1] == 2].mean() > 3 * wide[values[:, 1] == 0].mean()


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=30), st.data())
def test_thresholds_split_alike_and_are_no_cells(cells, data):
    numbers = torch.tensor(cells, dtype=torch.float64)
    thresholds = torch.tensor(data.draw(st.lists(st.sampled_from(cells) | st.floats(-2e6, 2e6), min_size=1)))
    moved = between_cells(thresholds.double(), numbers)
    for before, after in zip(thresholds.double(), moved, strict=True):
        assert torch.equal(numbers <= before, numbers <= after)
        assert after not in numbers


@pytest.mark.parametrize(("low", "high", "short"), [(3.0, 4.0, 3.5), (41_234.5, 47_999.1, 45_000.0), (-0.21, 0.3, 0.0)])
def test_a_threshold_is_short(low, high, short):
    assert shortest_between(low, high) == short


def test_means_of_groups_are_of_several_rows():
    means = group_means(torch.arange(103.0))
    assert len(means) == 20
    assert means[0] == 2.5  # of 0 to 5
    assert (means.diff() > 0).all()


def test_mixed_rows_have_columns_of_training_rows():
    values = torch.arange(60.0).view(20, 3)
    mixed = mix_rows(values, [[0], [1, 2]], 50, seed=0)
    assert torch.equal(mixed[:, 1] + 1, mixed[:, 2])  # numbers of one column stay together
    assert (mixed[:, 0] + 1 != mixed[:, 1]).any()
    assert torch.isin(mixed, values).all()


def test_the_rarer_class_is_that_of_the_teacher(tmp_path: Path):
    student_of(NPTClassifier, "tree").save(tmp_path / "small")
    assert rare_class(regard.load(tmp_path / "small")) == rare_class(fitted(NPTClassifier)) == 1


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture):
    table, small = tmp_path / "table.csv", tmp_path / "small"
    private_table().to_csv(table, index=False)
    fit = ("fit", table, "--target", "paid", "--mode", "in_context", "--out", tmp_path / "run")
    assert command(*fit) == 0
    assert command("distil", tmp_path / "run", "--to", "tree", "--out", small, "--json") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result["teacher"]) == set(result["student"]) == set(result["hard_labels"]) == {"rmse", "mae", "r2"}
    assert command("predict", small, table, "--out", tmp_path / "predicted.csv") == 0
    assert len(pd.read_csv(tmp_path / "predicted.csv")) == ROWS
    assert command("evaluate", small, table) == 0
    assert command("show", small) == 0
    assert "of which it contains none" in capsys.readouterr().out
    assert command("explain", small, table) == 1
    assert capsys.readouterr().err.strip().endswith("explain the run that it was distilled from")
    assert "no training rows" in OpenRun(small).describe()["problem"]
    assert command("distil", tmp_path / "run", "--out", small) == 1  # it is there already
    assert command("distil", small, "--out", tmp_path / "smaller") == 2
    assert "holds no training rows" in capsys.readouterr().err


def test_too_few_rows_and_unknown_students_are_refused():
    with pytest.raises(UserError, match="30 training rows are too few"):
        distil(fitted(rows=30))
    with pytest.raises(ConfigError, match="did you mean 'tree'"):
        distil(fitted(), "trees")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("0.0.left", lambda x: torch.zeros_like(x), "a child must come after its node"),
        ("0.shape", lambda x: x.flip(0), "must ascend"),
        ("0.levels", lambda x: x[:-1], "must be torch.float64"),
        ("0.1.roots", lambda x: x + 10**9, "must be from 0"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(name, change, message, tmp_path: Path):
    student_of(NPTRegressor, "tree").save(tmp_path / "small")
    file = tmp_path / "small" / "model.safetensors"
    stored = tensors.load(file)
    tensors.save(file, {**stored, name: change(stored[name]).contiguous()})
    with pytest.raises(UserError, match=message) as error:
        regard.load(tmp_path / "small")
    assert "\n" not in str(error.value)
