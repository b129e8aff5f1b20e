"""`regard explain`."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regard.cli.app import app
from regard.cli.results import check_out, put_json
from regard.core.errors import ConfigError, at_least

if TYPE_CHECKING:
    from regard.tables.explanations import Explanation

logger = logging.getLogger("regard.tables")


@app.command
def explain(
    run: Path,
    table: Path,
    *,
    row: tuple[int | Literal["all"], ...] = (0,),
    top: int = 5,
    json: bool = False,
    out: Path | None = None,
) -> None:
    """Show the evidence of predictions: the effects of their columns, and the training rows that they depend on.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    table
        A table with the same columns.
    row
        Index of the row; the first is 0. Several rows, or `all`, give a table with their effects side by side.
    top
        How many training rows to show, of a single row and in JSON.
    json
        Print a JSON object for each row and target, each on a line.
    out
        File to write: a table of effects (.csv, .tsv, .parquet), or those JSON objects (.json, .jsonl).
    """
    from regard.cli.tables.bar import progress_bar
    from regard.data.tables.files import read_table
    from regard.loading import load_table
    from regard.tables.data_checks import check_new_data
    from regard.tables.encode.frames import errors_in
    from regard.tables.explanations import explain_rows
    from regard.tables.rendering import evidence_json

    at_least(1, top=top)
    json = check_out(out, tables=True, as_json=json)
    estimator, frame = load_table(run), read_table(table)
    rows = _rows(row, len(frame), table)
    with errors_in(table), progress_bar():
        for line in check_new_data(estimator.columns_, frame.iloc[rows]):
            logger.warning("note: %s", line)
        explanations = list(explain_rows(estimator, frame, rows, top))
    if json:
        put_json([evidence_json(one.evidence, one.cells, one.target, one.row) for one in explanations], out)
    elif out is not None:
        from regard.data.tables.files import write_table
        from regard.tables.explanations import effects_table

        write_table(effects_table(explanations), out)
        logger.info("wrote %s: the effects of %s", out, f"{len(rows):,} rows" if len(rows) > 1 else "1 row")
    else:
        _show(explanations, table)


def _rows(numbers: Sequence[int | str], count: int, table: Path) -> list[int]:
    if "all" in numbers:
        return list(range(count))
    rows = [number for number in dict.fromkeys(numbers) if isinstance(number, int)]
    for number in rows:
        if not 0 <= number < count:
            raise ConfigError(f"--row {number}: {table} has {count:,} rows, the first of which is 0")
    return rows


def _show(explanations: Sequence["Explanation"], table: Path) -> None:
    """The evidence of one row, or the effects of several."""
    from rich.console import Console

    from regard.tables.predictions import sentence
    from regard.tables.rendering import MAX_KEYS, effects_grid, evidence_grids

    console = Console(highlight=False)
    if len({one.row for one in explanations}) > 1:
        console.print(effects_grid(explanations))
        return
    for one in explanations:
        keys = "".join(f"; {name} {cell}" for name, cell in list(one.keys.items())[:MAX_KEYS] if cell is not None)
        head = f"Row {one.row} of {table} (the first is 0{keys}): {sentence(one.prediction)}\n"
        console.print(head, markup=False, soft_wrap=True)
        for grid in evidence_grids(one.evidence, one.cells, one.target):
            console.print(grid, "")
