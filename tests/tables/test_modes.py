"""Folds of a table for fine-tuning and calibration."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from regard.tables.encode.table import EncodedTable
from regard.tables.folds import hold_out, split_folds
from regard.tables.modes import auto
from regard.tables.network.pretrained import pretrained_model
from tests.tables.conftest import write_tiny_reader


@given(some.integers(30, 200), some.integers(0, 4), some.integers(2, 60), some.integers(0, 99))
def test_equal_rows_are_held_out_together(count: int, classes: int, distinct: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randn(distinct, 3, generator=generator)
    kinds[0, 1] = torch.nan
    number = torch.randint(distinct, (count,), generator=generator)
    target = (number % classes if classes else number * 0.5).float()
    table = EncodedTable(kinds[number], torch.zeros(3, dtype=torch.bool), target, classes)
    held: list[set[float]] = []
    for rest, held_out in split_folds(table, 5, seed, 1000):
        assert len(rest.target) + len(held_out.target) == count
        train, test = (set(part.values[:, 0].tolist()) for part in (rest, held_out))
        assert not train & test
        held.append(test)
    assert not held[0] & held[1] | held[1] & held[2] | held[0] & held[2]


def test_every_class_is_held_out_in_turn() -> None:
    target = torch.arange(100) % 4
    table = EncodedTable(torch.arange(100.0)[:, None], torch.zeros(1, dtype=torch.bool), target.float(), 4)
    for rest, held_out in split_folds(table, 5, 0, 1000):
        assert torch.bincount(held_out.target.long()).tolist() == [5, 5, 5, 5]
        assert len(rest.target) == 80


def test_equal_rows_of_a_large_table_are_held_out_once():
    generator = torch.Generator().manual_seed(0)
    values = torch.randint(0, 12, (3000, 3), generator=generator).float()
    values[::7, 2] = torch.nan
    values[:1000] = 5.0
    table = EncodedTable(values, torch.zeros(3, dtype=torch.bool), values[:, 0].clone(), 12)
    rest, held_out = hold_out(table, 600, seed=0)
    kept, held = ([tuple(row) for row in part.values.nan_to_num(nan=99.0).tolist()] for part in (rest, held_out))
    assert 200 < len(held) < 600
    assert len(set(held)) == len(held)
    assert not set(kept) & set(held)
    assert kept.count((5.0, 5.0, 5.0)) >= 1000, "a third of the table stays with the training rows"


@pytest.mark.parametrize("levels", [(2, 2, 2), (3, 2, 4, 5)])
def test_rows_with_all_targets_of_some_cells_are_held_out_if_nearly_all_rows_have_copies(levels: tuple[int, ...]):
    generator = torch.Generator().manual_seed(0)
    values = torch.stack([torch.randint(0, most, (5000,), generator=generator).float() for most in levels], 1)
    target = torch.randint(0, 2, (5000,), generator=generator).float()
    table = EncodedTable(values, torch.ones(len(levels), dtype=torch.bool), target, 2)
    rest, held_out = hold_out(table, 625, seed=0)
    kept, held = ({tuple(row) for row in part.values.tolist()} for part in (rest, held_out))
    assert not kept & held
    if len(levels) == 3:  # too few combinations to tell anything
        assert (len(rest.target), len(held_out.target)) == (5000, 0)
    else:
        assert len(held) == math.prod(levels) // 8
        assert 400 < len(held_out.target) <= 625


def test_a_table_of_few_different_rows_is_fitted_without_holding_out(tmp_path: Path):
    values = torch.arange(5000)[:, None].bitwise_and(torch.tensor([1, 2, 4])).bool().float()
    table = EncodedTable(values, torch.ones(3, dtype=torch.bool), (values[:, 0] == values[:, 1]).float(), 2)
    model = pretrained_model(write_tiny_reader(tmp_path))
    ensemble = auto(model, table, members=1, seed=0, seconds=0.5)
    assert [type(one).__name__ for one in ensemble.predictors] == ["InContextPredictor"]


@pytest.mark.parametrize("copies", [1, 30])
def test_a_class_is_never_held_out_entirely(copies: int):
    """Boosted trees would have no output for it."""
    values = torch.arange(400.0).repeat(copies)[:, None]
    target = (values[:, 0] < 8) * (1 + values[:, 0])  # eight classes of one row, or of its copies, beside a common one
    table = EncodedTable(values, torch.zeros(1, dtype=torch.bool), target, 9)
    for seed in range(5):
        rest, held_out = hold_out(table, len(values) // 8, seed)
        assert len(rest.target.unique()) == 9
        assert len(held_out.target) > 24
