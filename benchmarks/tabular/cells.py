"""What is kept of measurements: a line of JSON for each table, seed and method; what is there is not made again."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Key = tuple[str, int, int | None, int | None, bool, float | None]


@dataclass(frozen=True)
class Cell:
    """One method on one table once: its scores, or the error it ended with, or why it was left out."""

    method: str
    table: str
    task: str
    seed: int
    fold: int | None  # None: a random split
    rows: int | None  # the cap on training rows; None: no cap
    unique: bool  # duplicate rows were removed first
    limit: float | None  # seconds that the method was asked to keep to, where it can
    table_rows: int
    train_rows: int
    test_rows: int
    scores: dict[str, float] | None = None
    error: str | None = None
    left_out: str | None = None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    threads: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What makes it another measurement than the next."""
        return self.table, self.seed, self.fold, self.rows, self.unique, self.limit


@dataclass(frozen=True)
class Shelf:
    """A folder with a file for each method; folds lie apart from random splits."""

    folder: Path

    def path(self, method: str, folds: bool) -> Path:
        return self.folder / f"{'folds_' if folds else ''}{method}.jsonl"

    def add(self, cell: Cell) -> None:
        path = self.path(cell.method, cell.fold is not None)
        path.parent.mkdir(parents=True, exist_ok=True)
        torn = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
        with path.open("a", encoding="utf-8") as file:
            file.write(("\n" if torn else "") + json.dumps(asdict(cell)) + "\n")

    def read(self, method: str, folds: bool = False) -> dict[Key, Cell]:
        """Of lines that say the same thing twice the last one counts."""
        path = self.path(method, folds)
        return {cell.key: cell for cell in _cells(path)} if path.exists() else {}

    def methods(self, folds: bool = False) -> list[str]:
        names = sorted(path.stem for path in self.folder.glob("*.jsonl"))
        return [name.removeprefix("folds_") for name in names if name.startswith("folds_") == folds]


def _cells(path: Path) -> Iterator[Cell]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield Cell(**json.loads(line))
        except (json.JSONDecodeError, TypeError):
            continue  # broken off while it was written: it will be measured again
