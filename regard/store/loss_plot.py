"""The losses of a run as a picture."""

import logging
from pathlib import Path

from regard.core.extras import available, explain_missing
from regard.core.files import atomic_file
from regard.store.metrics import is_final, read_metrics

log = logging.getLogger(__name__)


def plot_losses(run: Path) -> None:
    """Draw `loss.png` in a run folder from its metrics; without matplotlib only a note is logged."""
    if not available("plot"):
        log.info("no %s: %s", run / "loss.png", explain_missing("plot", "drawing the losses"))
        return
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter

    metrics = read_metrics(run)
    figure = Figure(figsize=(7, 4))  # a layout that fits its labels would be drawn three times
    axes = figure.subplots(gridspec_kw={"left": 0.13, "right": 0.98, "bottom": 0.13, "top": 0.97})
    for name, label in (("loss", "training"), ("valid", "validation")):
        points = [(line["step"], line[name]) for line in metrics if name in line and not is_final(line, name)]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, marker="." if name == "valid" else None)
    axes.set_xlabel("step")
    axes.set_ylabel("loss, nats")
    if any(line.get("loss", 0) > 0 for line in metrics if line.get("loss") is not None):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(LogFormatter())  # 0.5, not a formula
        axes.yaxis.set_minor_formatter(LogFormatter())
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    with atomic_file(run / "loss.png") as file:
        figure.savefig(file, dpi=120, format="png")
