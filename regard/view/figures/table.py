"""The figure of a row's evidence: effects of the columns, and training rows with their weights."""

from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

from regard.core.errors import UserError
from regard.view.figures.canvas import BAR_COLOUR, MAX_LABELS, escape, format_axis, new_figure
from regard.view.numbers import format_number, format_percent
from regard.view.row_explanation import RowExplanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def evidence_figure(explanation: RowExplanation) -> "Figure":
    """The effects of columns on the prediction, and the training rows with the largest weight."""
    if not explanation.rows:
        raise UserError("this prediction has no training rows as evidence to draw")
    columns = explanation.columns[:MAX_LABELS]
    bars = max(len(columns), len(explanation.rows))
    figure, [left, right] = new_figure(11, 1.4 + 0.26 * bars, columns=2)
    unit = 100 if explanation.is_probability else 1
    _bars(left, [name for name, _ in columns], [unit * effect for _, effect in columns])
    left.axvline(0, color="#777", linewidth=0.8)
    what = "the probability, in points" if explanation.is_probability else explanation.target
    base = format_percent(explanation.base) if explanation.is_probability else format_number(explanation.base)
    left.set_xlabel(escape(f"effect on {what} (Shapley value; from the average prediction, {base})"))
    names = [f"row {number}, {target}" for number, _, target, _ in explanation.rows]
    _bars(right, names, [weight for _, weight, *_ in explanation.rows])
    uniform = 1 / max(1, explanation.context_rows)
    right.axvline(uniform, color="#b3540a", linewidth=1, linestyle="--")
    right.set_xlabel(f"weight of the training row (dashed: uniform weight, {format_percent(uniform)})")
    for axes in (left, right):
        axes.set_ylim(bars - 0.5, -0.5)  # bars of one size on both sides
    figure.suptitle(escape(explanation.summary))
    return figure


def _bars(axes: "Axes", names: Sequence[str], values: Sequence[float]) -> None:
    axes.barh(range(len(names)), values, color=BAR_COLOUR)
    axes.set_yticks(range(len(names)), [escape(shorten(name, 40, placeholder=" …")) for name in names])
    axes.grid(axis="x", alpha=0.3)
    format_axis(axes.xaxis)
