"""Rows in JSON or from a form become the table that the columns of the training data know."""

from types import SimpleNamespace
from typing import Any

import pytest

from regard.core.errors import ConfigError
from regard.tables.encode.column import Column
from regard.tables.rows_by_cell import as_table, check_row


def fitted(*columns: Column) -> Any:
    return SimpleNamespace(columns_=SimpleNamespace(columns=columns), keys_={"id": None})


def test_cells_are_the_values_that_the_column_knows() -> None:
    estimator = fitted(Column("floor", "category", (1, 2, True)), Column("area", "number"))
    rows = [{"floor": "2", "area": "60.5"}, {"floor": "True", "area": " "}, {"floor": 1}, {"floor": "attic", "id": 7}]
    table = as_table(estimator, rows)
    assert table["floor"].tolist() == [2, True, 1, "attic"]
    assert table["area"].tolist() == ["60.5", None, None, None]


def test_the_categories_are_laid_out_once_a_column() -> None:
    class Label(str):
        __slots__ = ()
        written = 0

        def __str__(self) -> str:
            Label.written += 1
            return super().__str__()

    as_table(fitted(Column("kind", "category", (Label("x"), Label("y")))), [{"kind": "x"}] * 50)
    assert Label.written == 2


def test_what_is_no_cell_and_no_column_is_named_with_its_row() -> None:
    estimator = fitted(Column("area", "number"))
    check_row(estimator, {"area": 1, "id": "a key of the training data"})
    with pytest.raises(ConfigError, match=r"rows\[3\]: the table has no column 'aera'; did you mean 'area'"):
        check_row(estimator, {"aera": 1}, "rows[3]")
    with pytest.raises(ConfigError, match=r"^the table has no column 'aera'"):
        check_row(estimator, {"aera": "1"})
    with pytest.raises(ConfigError, match=r"rows\[0\].area: must be"):
        check_row(estimator, {"area": [1]}, "rows[0]")
