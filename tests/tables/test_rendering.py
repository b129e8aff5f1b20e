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
