"""What resembling rows say beside scikit-learn's kernel ridge, fitted once more for every row that is left out."""

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from regard.parts.column_facts import ColumnFacts
from regard.parts.resemblance import BITS, LEAST, Resemblance, _codes, _learned_weight, _solve, entries_of, near

RANDOM = torch.Generator().manual_seed(0)


def test_guesses_are_those_of_kernel_ridge_without_the_row():
    x, y = torch.randn(2, 30, 4, generator=RANDOM), torch.randn(2, 25, 3, generator=RANDOM)
    known, asked = x[:, :25], x[:, 25:]
    weight, penalty = torch.rand(2, 1, 4, generator=RANDOM) + 0.2, torch.full((2, 1, 1), 0.3)
    rows, level = known * weight, torch.zeros(2, 1, 3)
    say, own = _solve(near(rows, rows), y, penalty)
    like = Resemblance(torch.arange(4), weight, rows, penalty, say, level, own)
    for table in range(2):
        truth, scaled = y[table].numpy(), (x * weight)[table].numpy()
        ridge = KernelRidge(alpha=0.3, kernel="laplacian", gamma=1.0)
        told = ridge.fit(scaled[:25], truth).predict(scaled[25:])
        np.testing.assert_allclose(like.guess(asked)[table], told, atol=1e-4)
        for row in range(25):
            others = np.delete(np.arange(25), row)
            told = ridge.fit(scaled[others], truth[others]).predict(scaled[[row]])
            assert like.own[table, row].numpy() == pytest.approx(told[0], abs=1e-3)


def test_an_entry_counts_as_much_as_it_matters():
    x = torch.randn(1, 300, 6, generator=RANDOM)
    y = (3 * x[..., :1]).sin() + x[..., 1:2].abs()
    weight = _learned_weight(x, y - y.mean(1, keepdim=True))[0, 0]
    assert weight[0] == 1
    assert weight[1] > 3 * weight[2:].max()
    assert weight.min() >= LEAST


def test_it_finds_what_no_sum_of_columns_can_say():
    x = torch.randn(1, 500, 8, generator=RANDOM)
    y = (x[..., :1] * x[..., 1:2]).sign()
    like = Resemblance.fit(x[:, :400], y[:, :400])
    assert ((like.guess(x[:, 400:]) * y[:, 400:]) > 0).float().mean() > 0.85
    assert ((like.own * y[:, :400]) > 0).float().mean() > 0.85


def test_chances_of_classes_sum_to_one_and_shares_too():
    x = torch.randn(3, 40, 5, generator=RANDOM)
    labels = torch.nn.functional.one_hot(torch.randint(0, 4, (3, 30), generator=RANDOM), 4).float()
    like = Resemblance.fit(x[:, :30], labels)
    for told in (like.own.sum(-1), like.guess(x[:, 30:]).sum(-1), like.shares(x[:, 30:]).sum(-1)):
        torch.testing.assert_close(told, torch.ones_like(told), atol=1e-4, rtol=0)


def test_tables_side_by_side_are_told_what_each_is_told_alone():
    x, y = torch.randn(2, 60, 5, generator=RANDOM), torch.randn(2, 50, 1, generator=RANDOM)
    together = Resemblance.fit(x[:, :50], y).guess(x[:, 50:])
    for table in range(2):
        alone = Resemblance.fit(x[table : table + 1, :50], y[table : table + 1]).guess(x[table : table + 1, 50:])
        torch.testing.assert_close(together[table], alone[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_and_rows_that_are_all_alike_are_no_trouble(rows: int):
    for x in (torch.zeros(1, rows, 3), torch.randn(1, rows, 3, generator=RANDOM)):
        like = Resemblance.fit(x, torch.randn(1, rows, 2, generator=RANDOM))
        assert like.own.isfinite().all()
        assert like.guess(torch.randn(1, 4, 3, generator=RANDOM)).isfinite().all()


def test_categories_are_equal_or_not_and_the_first_few_all_equally_far():
    codes = _codes(torch.device("cpu"))
    assert len(codes.unique(dim=0)) == 2**BITS
    first = torch.cdist(codes[:BITS], codes[:BITS], p=1)
    assert (first == 2 - 2 * torch.eye(BITS)).all()
    values = torch.tensor([[[0.0, 5.0], [1.0, torch.nan], [2.0, 7.0], [0.0, 5.0]]])
    columns = ColumnFacts.learn(values, torch.zeros(1, 4, 1), torch.tensor([[True, False]]))
    means = columns.mean_labels(values, 4, 1)
    entries = entries_of(values, columns.describe(values)[0], means, columns)
    far = torch.cdist(entries, entries, p=1)[0]
    assert far[0, 3] == 0
    assert entries[0, :, 2:4].tolist() == [[0, 0], [0, 1], [0, 0], [0, 0]]  # which cells are missing
    assert entries[0, :, 0].abs().sum() == 0  # the number of a category counts nothing
    assert (far[0, [1, 2]] >= 2).all()


def test_categories_tell_known_rows_what_those_before_them_say_and_others_what_all_do():
    kind = torch.randint(0, 3, (200,), generator=RANDOM).float()
    labels = torch.randn(200, generator=RANDOM) + kind
    values = kind[None, :, None]
    columns = ColumnFacts.learn(values, labels[None, :, None], torch.tensor([[True]]))
    asked = columns.mean_labels(torch.tensor([[[0.0], [1.0], [2.0], [9.0]]]), 0, 1)[0, :, 0, 0]
    mean, deviation = labels.mean(), labels.std(correction=0)
    for number in range(3):
        own = labels[kind == number]
        expected = ((own.sum() + mean) / (len(own) + 1) - mean) / deviation
        assert asked[number].item() == pytest.approx(expected.item(), abs=1e-4)
    assert asked[3].abs() < 1e-5  # never seen: what all rows say
    told = columns.mean_labels(values, 200, 1)[0, :, 0, 0]
    for row in range(200):  # whatever its own label is, a known row is told the same
        other = labels.clone()
        other[row] += 100
        changed = ColumnFacts.learn(values, other[None, :, None], torch.tensor([[True]]))
        before, after = (x.sums[0, 0, :, 0].diff() for x in (columns, changed))
        assert (before[: columns.place[0, row, 0]] == after[: columns.place[0, row, 0]]).all()
    assert told.abs().max() < 3
