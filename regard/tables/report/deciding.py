"""The section about training rows that decide most, as HTML; a weight that is nearly uniform is no finding."""

from collections.abc import Iterator, Sequence
from html import escape

from regard.tables.cutting import cut, cut_apart
from regard.tables.rendering import NEARLY_UNIFORM
from regard.tables.report.formats import cell_text, number_text, percent
from regard.tables.report.markup import note, paragraph, table
from regard.tables.report.results import DecidingRow, Influence, TargetResults

MAX_TEXT = 32  # characters of a cell, unless two would be alike


def influence_section(target: TargetResults) -> Iterator[str]:
    measured = target.influence
    shown = [one for one in measured.rows if one.weight >= NEARLY_UNIFORM * measured.uniform]
    if shown:
        yield paragraph("An error in one of these rows spreads to many predictions: check them first.")
        if measured.identifiers:
            names = " and ".join(f"{cell_text(name)!r}" for name in measured.identifiers)
            one = len(measured.identifiers) == 1
            yield paragraph(
                f"{names} {'looks like an identifier' if one else 'look like identifiers'}, and rows may stand out by "
                f"{'it' if one else 'them'} alone: without {'it' if one else 'them'} (--ignore) this list tells more."
            )
        yield _rows(shown, measured, target.name)
    else:
        largest = max((one.weight for one in measured.rows), default=0.0) / measured.uniform
        yield paragraph(f"No row stands out: the largest weight is {number_text(largest, 3)} times the uniform weight.")
    what = "the mean weight of the row’s label" if measured.attends_to_labels else "the mean attention to the row"
    yield note(
        f"Weight: {what} in the predictions of {measured.held_out:,} held-out rows that it is not one of. The uniform "
        f"weight is {percent(measured.uniform, 2)}; rows from {NEARLY_UNIFORM:g} times that on are listed. Rows count "
        "from 0 in the training data."
    )


def _rows(shown: Sequence[DecidingRow], measured: Influence, target: str) -> str:
    heads = ["row", "weight", "against uniform", *(cut(name, MAX_TEXT) for name in (target, *measured.columns))]
    columns = zip(*((one.target, *one.cells) for one in shown), strict=True)
    texts = [cut_apart([cell_text(cell) for cell in column], MAX_TEXT) for column in columns]
    rows = [
        [
            f"{one.row:,}",
            percent(one.weight, 2),
            f"{number_text(one.weight / measured.uniform, 2)} ×",
            *map(escape, cells),
        ]
        for one, cells in zip(shown, zip(*texts, strict=True), strict=True)
    ]
    return table(heads, rows, right=(0, 1, 2))
