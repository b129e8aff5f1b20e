"""What all figures share: an empty figure, number formats, a heat map with token labels, saving."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard.core.errors import ConfigError, UserError
from regard.core.extras import require
from regard.core.files import atomic_file
from regard.view.numbers import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

SUFFIXES = (".png", ".svg", ".pdf")
MAX_LABELS = 80  # tokens on an axis: more could not be read
BAR_COLOUR = "#31688e"


def check_file(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"--out {path}: must end with one of {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder")


def save(figure: "Figure", path: Path) -> None:
    """Atomically, and byte for byte the same for the same figure."""
    import matplotlib

    date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with matplotlib.rc_context({"svg.hashsalt": "regard"}), atomic_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=200, metadata=date)


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> "tuple[Figure, list[Axes]]":
    require("plot", "drawing a figure")
    from matplotlib.figure import Figure  # not pyplot, which would change the backend of a notebook

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def draw_map(
    axes: "Axes", weights: torch.Tensor, down: Sequence[str], across: Sequence[str], vmax: float
) -> "AxesImage":
    """A heat map of weights from 0 to `vmax`, with the tokens on both axes if there are not too many."""
    aspect = "equal" if max(len(down), len(across)) < 400 else "auto"
    image = axes.imshow(weights.cpu(), cmap="viridis", vmin=0, vmax=vmax, aspect=aspect)  # type: ignore[arg-type]
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    if len(across) <= MAX_LABELS:
        axes.set_xticks(range(len(across)), [escape(token) for token in across], rotation=60, ha="left")
    if len(down) <= MAX_LABELS:
        axes.set_yticks(range(len(down)), [escape(token) for token in down])
    return image


def colour_bar(
    figure: "Figure", image: "AxesImage", axes: "Axes | list[Axes]", label: str = "attention weight"
) -> None:
    bar = figure.colorbar(image, ax=axes, shrink=0.7)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    format_axis(bar.ax.yaxis)


def format_axis(axis: "Axis") -> None:
    """Tick labels as the page writes numbers, without matplotlib's offsets."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(float(f"{value:.8g}"), 6)))


def escape(text: str) -> str:
    """The text as it is: matplotlib would read dollar signs as mathematics."""
    return text.replace("$", r"\$")
