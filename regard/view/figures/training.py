"""The figure of training curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.core.errors import UserError
from regard.view.figures.canvas import escape, format_axis, new_figure
from regard.view.numbers import log_ticks
from regard.view.pictures.groups import grouped, mean_curve
from regard.view.pictures.training import training_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # distinct for colour-blind readers
STROKES = ("-", (0, (7, 3)), (0, (2, 3)), (0, (9, 3, 2, 3)), (0, (16, 4)))  # for more curves than colours
HEIGHT = 180  # of a panel in pixels, for the distance between ticks
Curves = dict[str, dict[str, Any]]


def training_figure(runs: Sequence[Path]) -> "Figure":
    """Loss, learning rate and speed of runs in one chart each; seeds of a study as their mean with a band."""
    groups = [(name, [training_picture(path)["curves"] for path in paths]) for name, paths in grouped(runs).items()]
    panels = _panels({name for _, runs_curves in groups for curves in runs_curves for name in curves})
    if not panels:
        raise UserError(f"{runs[0]}: no metrics logged yet, so there are no curves")
    figure, all_axes = new_figure(5 * len(panels), 3.4, columns=len(panels))
    for axes, (title, names) in zip(all_axes, panels, strict=True):
        _draw_panel(axes, groups, names)
        axes.set_title(title)
    legend = dict(zip(*reversed(all_axes[0].get_legend_handles_labels()), strict=True))
    columns = min(6, len(legend))
    figure.legend(legend.values(), legend, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    return figure


def _panels(known: set[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Title and curves of each panel that has something to show."""
    rates = ("lr", "lr_adamw") if "lr" in known else ("lr_multiplier",)
    rate_title = "learning rate" if "lr" in known else "learning-rate multiplier"
    rate_title += " (thin: AdamW)" if "lr_adamw" in known else ""
    losses = "loss in nats (dots: validation)" if "valid" in known else "loss in nats"
    panels = [(losses, ("loss", "valid")), (rate_title, rates), ("speed, tokens or rows per second", ("speed",))]
    return [panel for panel in panels if known.intersection(panel[1])]


def _draw_panel(axes: "Axes", groups: Sequence[tuple[str, list[Curves]]], names: Sequence[str]) -> None:
    spans = [
        _draw_curve(axes, number, group, name, curves)
        for number, (group, all_curves) in enumerate(groups)
        for name in names
        if (curves := [one[name] for one in all_curves if name in one])
    ]
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    axes.set_xlabel("step")
    axes.grid(alpha=0.3)
    format_axis(axes.xaxis)
    if names[0] == "loss" and 0 < low < high:
        axes.set_yscale("log")
        axes.set_yticks(log_ticks(low, high, HEIGHT))
        axes.set_yticks([], minor=True)
    format_axis(axes.yaxis)


def _draw_curve(
    axes: "Axes", number: int, group: str, name: str, curves: Sequence[dict[str, Any]]
) -> tuple[float, float]:
    """The mean of the curves of a group, with a band if there are several; returns the lowest and highest value."""
    style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)]}
    steps, mean, low, high = mean_curve(curves)
    stroke = STROKES[number // len(COLOURS) % len(STROKES)]
    marker = "." if name == "valid" or len(steps) == 1 else ""  # a line through one point would be invisible
    width = 0.8 if name == "lr_adamw" else 1.5
    axes.plot(steps, mean, label=escape(group), marker=marker, alpha=0.8, linestyle=stroke, linewidth=width, **style)
    if len(curves) > 1:
        axes.fill_between(steps, low, high, alpha=0.18, linewidth=0, **style)
    return float(low.min()), float(high.max())
