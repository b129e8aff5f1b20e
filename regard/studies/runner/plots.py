"""Plots of studies as SVG text, byte for byte reproducible."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from regard.core.extras import require

MAX_TICKS = 6  # up to so many x values get a tick each
INK, BAND, WORSE, BETTER = "#1b1b1f", "#d9d9de", "#b3382c", "#2a6f4e"
COLOURS = ("#33508f", "#b3382c", "#2a6f4e", "#8a5a00", "#6b3f87", "#3c7d8c", "#777777")
STYLE: Any = {"svg.hashsalt": "regard", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


@dataclass
class Canvas:
    figure: Any
    axes: Any
    svg: str = ""


@contextmanager
def canvas(width: float, height: float, columns: int = 1) -> Iterator[Canvas]:
    """Axes to draw on (an array if there are several columns); afterwards `svg` holds the plot."""
    require("plot", "drawing a report")
    import matplotlib
    from matplotlib.figure import Figure  # not pyplot, which would replace the backend of a notebook

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        drawing = Canvas(figure, figure.subplots(1, columns))
        yield drawing
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        drawing.svg = text.getvalue()


def draw_effects(effects: Sequence[tuple[str, Sequence[float], float]], unit: str) -> str:
    """One row per change: the difference of every seed, their mean, and the margin of error around zero."""
    with canvas(7.5, 0.9 + 0.24 * len(effects)) as drawing:
        axes = drawing.axes
        for row, (_, differences, margin) in enumerate(effects):
            axes.barh(row, 2 * margin, left=-margin, height=0.8, color=BAND, zorder=1)
            mean = sum(differences) / len(differences)
            colour = INK if abs(mean) <= margin else WORSE if mean > 0 else BETTER
            axes.scatter(differences, [row] * len(differences), s=9, color=colour, alpha=0.45, zorder=2, linewidths=0)
            axes.scatter([mean], [row], s=34, color=colour, marker="|", zorder=3)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(effects)), [name for name, _, _ in effects])
        axes.set_ylim(len(effects) - 0.4, -0.6)
        axes.set_xscale("symlog", linthresh=0.05)
        axes.set_xlabel(f"difference of validation loss from the base, {unit} (right: worse; grey: seed noise)")
    return drawing.svg


def draw_lines(lines: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str, *, log: str = "") -> str:
    """A line plot; `log` names the logarithmic axes: "x", "y" or "xy"."""
    with canvas(6.4, 3.8) as drawing:
        plot_lines(drawing.axes, lines, x_label, y_label, log)
    return drawing.svg


def plot_lines(
    axes: Any,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    x_label: str,
    y_label: str,
    log: str,
    *,
    legend: bool = True,
) -> None:
    colours = iter(COLOURS * (1 + len(lines) // len(COLOURS)))
    for name, points in lines.items():
        if points:
            axes.plot(*zip(*sorted(points), strict=True), marker=".", label=name, color=next(colours))
    if "x" in log:
        axes.set_xscale("log")
        values = sorted({x for points in lines.values() for x, _ in points})
        if 0 < len(values) <= MAX_TICKS:
            axes.set_xticks(values, [f"{x:,.0f}" for x in values])
            axes.minorticks_off()
    if "y" in log:
        axes.set_yscale("log")
        heights = [y for points in lines.values() for _, y in points]
        if not heights or max(heights) < 10 * min(heights):  # no power of ten between them to put a tick at
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.25)
    if lines and legend:
        axes.legend(frameon=False, fontsize=8)
