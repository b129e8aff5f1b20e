"""Alignment of target and source tokens as an image file and as text."""

from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

SHADES = " ░▒▓█"


def draw(pattern: Float[Tensor, "target source"], target: Sequence[str], source: Sequence[str], path: Path) -> None:
    """A heat map with a row for each target token and a column for each source token."""
    from matplotlib.figure import Figure  # not pyplot, which would change the backend of a notebook

    size = 1.2 + 0.24 * len(source), 1.0 + 0.24 * len(target)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(pattern.cpu(), cmap="viridis", vmin=0, aspect="equal")
    figure.colorbar(image, ax=axes, shrink=0.7, label="attention weight")
    axes.set_xticks(range(len(source)), source)
    axes.set_yticks(range(len(target)), target)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xlabel("source")
    axes.set_ylabel("target")
    figure.savefig(path, dpi=150)


def as_text(pattern: Float[Tensor, "target source"], target: Sequence[str], source: Sequence[str]) -> str:
    """The same with block characters, for a terminal; each token is shown by its first letter."""
    lines = ["  " + "".join(token[:1] for token in source)]
    for token, row in zip(target, pattern, strict=True):
        levels = (row / row.max().clamp(min=1e-9) * (len(SHADES) - 1)).round().int().tolist()
        lines.append(f"{token[:1]} " + "".join(SHADES[level] for level in levels))
    return "\n".join(lines)
