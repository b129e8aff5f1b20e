"""A picture of forecasts: the history, the median and the intervals of 50, 80 and 90 %, a panel for each series."""

from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import ConfigError
from regard.core.extras import require
from regard.core.files import atomic_file
from regard.tables.forecast.engine import Window
from regard.tables.forecast.forecaster import Forecast, Forecaster, quantile

MAX_PANELS = 12
HISTORY = 4.0  # horizons that are shown, at least
INK, COLOUR = "#1b1b1f", "#33508f"
BANDS = {0.05: "#dde2ee", 0.1: "#bcc6de", 0.25: "#93a3c8"}  # colours of intervals by their lower level
STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def check_plot(path: Path) -> None:
    require("plot", "drawing a forecast")
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{path}: a plot is written as .png, .svg or .pdf")


def draw_forecast(forecast: Forecast, forecaster: Forecaster, path: Path) -> None:
    """Draw the first series of a forecast."""
    import matplotlib
    from matplotlib.figure import Figure  # not pyplot, which would replace the backend of a notebook

    windows = forecast.windows_ahead[:MAX_PANELS]
    columns = 1 if len(windows) == 1 else 2 if len(windows) <= 4 else 3
    lines = -(-len(windows) // columns)
    size = (9.0, 3.8) if len(windows) == 1 else (4.2 * columns, 2.5 * lines)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        panels = np.atleast_1d(figure.subplots(lines, columns)).reshape(-1)
        for axes, window in zip(panels, windows, strict=False):
            _draw_series(axes, window)
            axes.set_title(window.of.series.name or forecaster.value, loc="left", fontsize=10)
        for axes in panels[len(windows) :]:
            axes.set_axis_off()
        figure.legend(
            *panels[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside upper right", ncols=5
        )
        if more := len(forecast.windows_ahead) - len(windows):
            figure.supxlabel(f"and {more:,} more series", fontsize=8)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)


def _draw_series(axes: Any, window: Window) -> None:
    series, horizon = window.of.series, window.of.horizon
    shown = min(len(series.values), int(max(HISTORY * horizon, 3 * series.periods[0], 40)))
    past = series.values[-shown:]
    before = series.times(len(series.values) - shown, shown).to_numpy()
    after = series.times(len(series.values), horizon).to_numpy()
    known = np.flatnonzero(np.isfinite(past))[-1]
    axes.plot(before, past, color=INK, linewidth=1.0, label="history")
    joined = np.concatenate([before[known : known + 1], after])
    for low, shade in BANDS.items():
        edges = [np.concatenate([[past[known]], quantile(window, level)]) for level in (low, 1 - low)]
        label = f"{1 - 2 * low:.0%} interval"
        axes.fill_between(joined, *edges, color=shade, linewidth=0, label=label)
    axes.plot(joined, np.concatenate([[past[known]], window.median]), color=COLOUR, linewidth=1.6, label="forecast")
    axes.axvline(before[known], color=INK, linewidth=0.6, alpha=0.4, linestyle=":")
    axes.grid(alpha=0.2)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
    if np.issubdtype(before.dtype, np.datetime64):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=7)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
