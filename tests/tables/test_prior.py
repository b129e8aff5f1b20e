"""Synthetic tables: invariants of every draw."""

from dataclasses import replace

import pytest
import torch

from regard.core.errors import ConfigError
from regard.tables.prior import Prior, SyntheticTables
from regard.tables.prior.draw import draw_group, family_of, shape_of
from regard.tables.prior.flat_rules import Rule, draw_flat_rule, draw_rule
from regard.tables.prior.many_levels import code_levels, draw_levels

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


def spread_of_means(level: torch.Tensor, target: torch.Tensor) -> float:
    """How far the mean target of a level is from that of another."""
    means = torch.stack([target[level == one].mean() for one in level.unique()])
    return float(means.max() - means.min())


@pytest.mark.parametrize("rule", [Rule("parity", 3, 2), Rule("equality", 2, 4), Rule("lookup", 2, 3)], ids=str)
@pytest.mark.parametrize("classes", [0, 2])
def test_no_column_of_a_flat_rule_says_anything_alone(rule: Rule, classes: int):
    generator = torch.Generator().manual_seed(0)
    columns, target = draw_flat_rule(generator, rule, tables=1, rows=8000, columns=rule.columns, classes=classes)
    values, target = columns.values[0], target[0]
    bins = (values.argsort(0).argsort(0) * 12 // len(values)) if not columns.category.all() else values
    level = torch.where(columns.category[0], values, bins.float())
    together = (level * 16 ** torch.arange(rule.columns)).sum(1)
    if rule.kind != "lookup" or not classes:  # the classes of a look-up table are drawn at random
        for column in range(rule.columns):
            assert spread_of_means(level[:, column], target) < 0.35 * target.std()
    assert spread_of_means(together, target) > 1.2 * target.std()


def test_a_flat_rule_is_one_that_the_context_can_show():
    generator = torch.Generator().manual_seed(0)
    rules = [draw_rule(generator, columns=5, context=60, classes=3) for _ in range(60)]
    assert {rule.kind for rule in rules} == {"parity", "equality", "lookup"}
    assert {rule.columns for rule in rules} == {2, 3}  # four columns of two levels have sixteen combinations
    assert all(rule.levels**rule.columns <= 15 for rule in rules)
    assert all(rule.levels <= 3 for rule in rules if rule.kind == "parity")


def test_categories_of_many_levels_are_rare_and_each_has_its_effect():
    generator = torch.Generator().manual_seed(0)
    counts = []
    for _ in range(20):
        level, levels = draw_levels(generator, 2, 500)
        code = code_levels(generator, level, levels, 400)
        assert 100 <= levels <= 5000
        assert level.max() < levels
        for row, codes in zip(level, code, strict=True):
            seen = row[:400].unique()
            assert codes[:400].unique().tolist() == list(range(len(seen)))
            unseen = ~torch.isin(row, seen)
            assert (codes[unseen] == len(seen)).all()
        counts.append(levels)
    assert max(counts) > 1000
    group = draw_group(replace(PRIOR, many_levels=1.0, flat_rules=0.0, max_rows=2000, min_rows=1500, max_columns=4), 0)
    assert group.category[:, 0].all()
    assert group.values[0, :, 0].nan_to_num(0.0).unique().numel() > 50


def test_the_share_of_each_family_is_that_of_the_settings():
    families = [family_of(Prior(), number) for number in range(2000)]
    assert families.count("flat rule") == pytest.approx(200, abs=50)
    assert families.count("many levels") == pytest.approx(100, abs=40)
    common = replace(PRIOR, flat_rules=0.0, many_levels=0.0)
    for number in range(6):
        if family_of(PRIOR, number) == "common":
            one, same = draw_group(PRIOR, number), draw_group(common, number)
            assert torch.allclose(one.values, same.values, equal_nan=True)
    for shares in ({"flat_rules": 1.5}, {"many_levels": -0.1}, {"flat_rules": 0.7, "many_levels": 0.7}):
        with pytest.raises(ConfigError, match=list(shares)[-1]):
            Prior(**shares)


def test_every_family_is_drawn_alike_by_everyone():
    for shares in ({"flat_rules": 1.0, "many_levels": 0.0}, {"many_levels": 1.0, "flat_rules": 0.0}):
        prior = replace(PRIOR, **shares)
        for number in range(12):
            one, same = draw_group(prior, number), draw_group(prior, number)
            shape = shape_of(prior, number)
            assert one.values.shape == (shape.tables, shape.rows, shape.columns)
            assert torch.allclose(one.values, same.values, equal_nan=True)
            assert torch.allclose(one.target, same.target, equal_nan=True)
            assert one.target[:, : one.context].isfinite().all()


def test_long_tables_have_more_rows_and_fewer_columns():
    prior = Prior(max_rows=200, long=0.5, long_rows=1000, max_columns=64, budget=1500)
    shapes = [shape_of(prior, number) for number in range(200)]
    long = [shape for shape in shapes if shape.rows > 200]
    assert 70 < len(long) < 130
    assert all(shape.tables == 1 and shape.rows <= 1000 for shape in long)
    assert all(shape.rows * (shape.columns + 6) <= 6 * 1500 or shape.columns == 1 for shape in long)
    assert draw_group(prior, next(n for n in range(200) if shape_of(prior, n).rows > 200)).values.shape[1] > 200
    with pytest.raises(ConfigError, match="long_rows"):
        Prior(long=0.1, long_rows=100)
