"""Folds of a table for fine-tuning and calibration."""

import torch
from hypothesis import given
from hypothesis import strategies as some

from regard.tables.encode.table import EncodedTable
from regard.tables.folds import hold_out, split_folds


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
