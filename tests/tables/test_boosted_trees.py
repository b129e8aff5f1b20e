"""Boosted trees: the arrays that are kept predict what scikit-learn's own trees do."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from regard.tables.encode.table import EncodedTable
from regard.tables.network import boosted_trees
from regard.tables.network.boosted_trees import BoostedTreesPredictor, Trees, grow_trees, trees_of
from regard.tables.network.level_means import PRIOR_ROWS, LevelMeans


def mixed_table(rows: int, classes: int, seed: int = 0) -> EncodedTable:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(rows, 4, generator=generator)
    values[:, 3] = torch.randint(0, 6, (rows,), generator=generator).float()
    score = values[:, 0] * values[:, 1] + torch.tensor([0.0, 2, -1, 1, -2, 0])[values[:, 3].long()]
    values[torch.rand(rows, 4, generator=generator) < 0.1] = torch.nan
    target = (score[:, None] > torch.linspace(-1, 1, classes - 1)).sum(1).float() if classes else score.double()
    return EncodedTable(values, torch.tensor([False, False, False, True]), target, classes)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_arrays_predict_as_scikit_learn_does(classes):
    table = mixed_table(600, classes)
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(max_iter=12, random_state=0).fit(table.values.double().numpy(), table.target.numpy())
    levels = LevelMeans(torch.zeros(4, dtype=torch.bool), torch.zeros(1, dtype=torch.long), torch.zeros(0))
    predictor = BoostedTreesPredictor(trees_of(model, 12), levels, torch.zeros(33), table)
    queries = mixed_table(200, classes, 1).values
    predicted = predictor.predict(queries).double().numpy()
    if classes:
        np.testing.assert_allclose(predicted, model.predict_proba(queries.double().numpy()), atol=2e-4)
    else:
        np.testing.assert_allclose(predicted[:, 0], model.predict(queries.double().numpy()), atol=1e-9)


def test_level_means_by_hand():
    values = torch.tensor([[0.0], [0.0], [1.0], [torch.nan]])
    table = EncodedTable(values, torch.tensor([True]), torch.tensor([1.0, 3.0, 8.0, 0.0]).double(), 0)
    encoded = LevelMeans.fit(table).encode(torch.tensor([[0.0], [1.0], [torch.nan], [7.0]]))[:, 0]
    total = 3.0
    expected = [(4 + PRIOR_ROWS * total) / (2 + PRIOR_ROWS), (8 + PRIOR_ROWS * total) / (1 + PRIOR_ROWS)]
    np.testing.assert_allclose(encoded[:2], expected)
    assert encoded[2:].isnan().all()


def test_a_level_of_one_row_does_not_give_its_target_away():
    rows = 400
    target = torch.randn(rows, generator=torch.Generator().manual_seed(0)).double()
    table = EncodedTable(torch.arange(rows).float()[:, None], torch.tensor([True]), target, 0)
    assert LevelMeans.fit(table).encode(table.values).isfinite().all()
    assert LevelMeans.fit(table).cross_fit(table, seed=0).isnan().all()


def test_frequent_levels_have_one_mean_and_rare_ones_that_of_other_folds():
    generator = torch.Generator().manual_seed(0)
    codes = torch.cat([torch.zeros(300), torch.arange(1.0, 31.0).repeat(10)])
    table = EncodedTable(codes[:, None], torch.tensor([True]), torch.randn(600, generator=generator).double(), 0)
    means = LevelMeans.fit(table)
    fitted, whole = means.cross_fit(table, seed=0)[:, 0], means.encode(table.values)[:, 0]
    assert (fitted[:300] == whole[:300]).all()
    assert (fitted[300:] != whole[300:]).all()


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_trees_learn_and_their_rows_have_weights(classes):
    table, held_out = mixed_table(800, classes), mixed_table(200, classes, 1)
    predictor = BoostedTreesPredictor(*grow_trees(table, held_out, 600.0, seed=0), table)
    test = mixed_table(300, classes, 2)
    predicted = predictor.predict(test.values)
    if classes:
        assert (predicted.argmax(1) == test.target).float().mean() > 0.7
    else:
        assert (predicted[:, 0] - test.target).square().mean() < 0.5 * test.target.var()
        assert (predicted[:, 1:].diff(dim=1) >= 0).all()
    weights = predictor.row_weights(test.values[:5])
    torch.testing.assert_close(weights.sum(1), torch.ones(5))


@pytest.mark.parametrize("kept", [0, 2**26])
def test_row_weights_are_those_of_each_tree_alone_within_a_bound(kept: int, monkeypatch: pytest.MonkeyPatch):
    """The table is walked down with few trees at a time."""
    table, queries = mixed_table(500, 3), mixed_table(20, 3, 2).values
    predictor = BoostedTreesPredictor(*grow_trees(table, mixed_table(100, 3, 1), 0.01, seed=0), table)
    encode, trees = predictor.levels.encode, predictor.trees
    expected = torch.zeros(20, 500)
    for own, rows in zip(trees.leaves(encode(queries)).T, trees.leaves(encode(table.values)).T, strict=True):
        same = (own[:, None] == rows).float()
        expected += same / same.sum(1, keepdim=True).clamp(min=1)
    walked, leaves = list[int](), Trees.leaves

    def counted(self: Trees, cells: torch.Tensor, roots: torch.Tensor) -> torch.Tensor:
        walked.append(len(cells) * roots.numel())
        return leaves(self, cells, roots)

    monkeypatch.setattr(Trees, "leaves", counted)
    monkeypatch.setattr(boosted_trees, "MAX_LEAVES", 5000)
    monkeypatch.setattr(boosted_trees, "MAX_CACHED_LEAVES", kept)
    for _ in range(2):
        torch.testing.assert_close(predictor.row_weights(queries), expected / expected.sum(1, keepdim=True))
    assert max(walked) <= 5000
    assert sum(size == 5000 for size in walked) >= (1 if kept else 2) * (trees.roots.numel() // 10)
    assert pickle.loads(pickle.dumps(predictor))._leaves is None


@pytest.mark.parametrize("missing", [(0,), (1,), (3,), (0, 2)])
def test_a_class_without_rows_has_an_output_of_its_own(missing: tuple[int, ...]):
    """scikit-learn counts only the classes that it sees, and has one output for two of them."""
    table, held_out = mixed_table(600, 4), mixed_table(200, 4, 1)
    some = table.take(~torch.isin(table.target, torch.tensor(missing).float()))
    model = HistGradientBoostingClassifier(max_iter=12, random_state=0)
    model.fit(some.values.double().numpy(), some.target.numpy())
    levels = LevelMeans(torch.zeros(4, dtype=torch.bool), torch.zeros(1, dtype=torch.long), torch.zeros(0))
    predicted = BoostedTreesPredictor(trees_of(model, 12, 4), levels, torch.zeros(33), some).predict(held_out.values)
    expected = np.zeros((200, 4))
    expected[:, model.classes_.astype(int)] = model.predict_proba(held_out.values.double().numpy())
    np.testing.assert_allclose(predicted.double().numpy(), expected, atol=4e-4)
    one = some.take(some.target == 2 if 2 not in missing else some.target == 1)
    trees, means, rest = grow_trees(one, one, 0.01, seed=0)
    assert (BoostedTreesPredictor(trees, means, rest, one).predict(one.values)[:, int(one.target[0])] > 0.99).all()
    trees, *_ = grow_trees(some, held_out, 0.01, seed=0)
    assert trees.roots.shape[1] == len(trees.baseline) == 4


def test_empty_columns_and_levels_of_one_row_do_not_stop_the_trees():
    table = mixed_table(300, 0)
    table.values[:, 2], table.values[:, 3] = torch.nan, torch.arange(300.0)
    trees, levels, _ = grow_trees(table, table.take(torch.arange(50)), 0.01, seed=0)
    assert not torch.isin(trees.column[trees.left != torch.arange(len(trees.left))], torch.tensor([2, 3])).any()
    assert levels.encode(table.values)[:, 2].isnan().all()
