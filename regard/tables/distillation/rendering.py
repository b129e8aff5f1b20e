"""What a distillation costs in accuracy and gains in speed, for the terminal."""

from rich.console import Group, RenderableType

from regard.tables.distillation.distil import Comparison, Recipe
from regard.tables.plain_numbers import plain_number
from regard.tables.rendering import grid
from regard.tables.scores import NAMES


def distillation_grid(one: Comparison, to: str) -> RenderableType:
    """The scores of teacher, student and the same student without a teacher, side by side."""
    names = [name for name in NAMES if name in one.teacher]
    rows = [
        ("teacher", one.teacher, _seconds(one.teacher_seconds)),
        (f"{to}", one.student, _seconds(one.student_seconds)),
        (f"{to}, hard labels alone", one.hard_labels, ""),
    ]
    title = f"{one.target or 'target'} on {one.rows:,} held-out rows"
    heads = ("model", *(NAMES[name] for name in names), "time for 1,000 rows")
    shown = [(name, *(plain_number(scores[key]) for key in names), seconds) for name, scores, seconds in rows]
    return Group(grid(title, heads, shown), _recipe(one))


def _recipe(one: Comparison) -> str:
    """What the student has learned from."""
    if not one.mixed_rows:
        return "the student has learned from hard labels: soft ones were no better on rows that it did not learn"
    return f"the student has learned from {Recipe(one.soft_labels, one.mixed_rows)}"


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
