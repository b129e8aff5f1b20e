"""Evidence on a terminal: as many columns as it is wide, and every row on a line of its own."""

from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from regard.tables.explain import Evidence
from regard.tables.rendering import evidence_grids

NAMES = [f"column {number}" for number in range(5)]


def evidence() -> Evidence:
    rows = pd.DataFrame({
        "weight": [0.5, 0.3], "target": [1.25, 2.5], "key": ["A00001", "A00002"],
        **{name: ["a text that is longer than any cell may be", "short"] for name in NAMES},
    })  # fmt: skip
    columns = pd.DataFrame({"effect": [1.0] * 5, "error": [0.1] * 5}, index=NAMES)
    return Evidence(2.0, rows, columns, 1.0, 6.0, False, 20, attends_to_labels=True, keys=("key",))


@pytest.mark.parametrize("width", [52, 77, 78, 200])
def test_every_row_is_a_line(width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("COLUMNS", str(width))
    _, rows = evidence_grids(evidence(), pd.Series(dict.fromkeys(NAMES, "x")), "price")
    with (tmp_path / "screen").open("w+") as file:
        Console(file=file, width=width).print(rows)
        file.seek(0)
        lines = file.read().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("row "))
    assert lines[start].split()[:4] == ["row", "weight", "price", "key"]
    assert [line.split()[:3] for line in lines[start + 1 : start + 3]] == [
        ["0", "50.0%", "1.25"],
        ["1", "30.0%", "2.5"],
    ]
    shown = lines[start].count("column")
    assert shown == {52: 1, 77: 1, 78: 2, 200: 5}[width]


@pytest.mark.parametrize(("cell", "effect", "said"), [("C7", 9.0, True), ("C1", 9.0, False), ("C7", 1.0, False)])
def test_rows_that_do_not_share_the_decisive_category_are_not_passed_off_as_the_reason(
    cell: str, effect: float, said: bool
):
    rows = pd.DataFrame({"weight": [0.5, 0.3], "target": ["yes", "no"], "customer": ["C1", "C2"], "age": [30, 40]})
    columns = pd.DataFrame({"effect": [effect, 2.0], "error": [0.1, 0.1]}, index=["customer", "age"])
    columns = columns.sort_values("effect", ascending=False)
    one = Evidence("yes", rows, columns, 0.5, 0.9, True, 20, attends_to_labels=True)
    _, shown = evidence_grids(one, pd.Series({"customer": cell, "age": 30}), "churn")
    console = Console(width=100)
    with console.capture() as captured:
        console.print(shown)
    text = "none of these rows has customer = 'C7': those that have act through their average"
    assert (text in captured.get()) == said
