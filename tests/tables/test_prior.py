"""Synthetic tables: invariants of every draw."""

import pytest
import torch

from regard.tables.prior import Prior, SyntheticTables
from regard.tables.prior.draw import draw_group, shape_of

PRIOR = Prior(budget=1500, max_rows=96, max_columns=24)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_invariants(first: int):
    for number in range(first, first + 10):
        group = draw_group(PRIOR, number)
        context, query = group.target[:, : group.context], group.target[:, group.context :]
        assert group.values.shape[:2] == group.target.shape
        assert 0 < group.context < group.target.shape[1]
        assert not group.values.isinf().any()
        assert context.isfinite().all()
        if not group.classes:
            assert query.isfinite().all()
            assert context.mean(1).abs().max() < 0.5  # apart from clipping
            continue
        assert set(group.target[~group.target.isnan()].tolist()) <= set(range(group.classes))
        for row, seen in zip(query, context, strict=True):
            assert set(row[~row.isnan()].tolist()) <= set(seen.tolist())  # only classes of the context are queried


def test_a_number_draws_the_same_tables_whoever_draws_them():
    torch.manual_seed(1)
    one = draw_group(PRIOR, 7)
    torch.manual_seed(2)
    same, other = draw_group(PRIOR, 7), draw_group(PRIOR, 8)
    assert torch.equal(one.values, same.values) or torch.allclose(one.values, same.values, equal_nan=True)
    assert torch.allclose(one.target, same.target, equal_nan=True)
    assert one.values.shape != other.values.shape or not torch.allclose(one.values, other.values, equal_nan=True)


def test_the_kinds_that_the_prior_names_are_all_drawn():
    groups = [draw_group(PRIOR, number) for number in range(80)]
    classes = {group.classes for group in groups}
    assert {0, 2} < classes
    assert max(classes) > 5
    assert any(group.category.any() for group in groups)
    assert any(group.values.isnan().any() for group in groups)
    assert any(not group.category.any() and not group.values.isnan().any() for group in groups)


def test_ranks_share_the_work_of_a_step():
    tables = SyntheticTables(Prior(), held_out=0)
    for step in range(20):
        whole = tables.batch(step)
        parts = [whole.shard(number, 2) for number in range(2)]
        assert sorted(parts[0].numbers + parts[1].numbers) == sorted(whole.numbers)
        costs = [sum(shape_of(Prior(), group).cost for group in part.numbers) for part in parts]
        assert max(costs) < 1.6 * min(costs)


def test_what_is_measured_by_is_never_trained_on():
    tables = SyntheticTables(PRIOR, held_out=3)
    trained = {number for step in range(50) for number in tables.batch(step).numbers}
    assert not trained & {number for batch in tables.once() for number in batch.numbers}
