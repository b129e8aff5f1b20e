"""Alignment: which part of the source each word of the target looked at, as a picture and as text."""

from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

SHADES = " ░▒▓█"


def draw(pattern: Float[Tensor, "target source"], target: Sequence[str], source: Sequence[str], path: Path) -> None:
    """A heat map: a row for each written token, a column for each token read."""
    from matplotlib.figure import Figure  # by itself: pyplot would choose a backend, and a notebook has its own

    size = 1.2 + 0.24 * len(source), 1.0 + 0.24 * len(target)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.imshow(pattern.cpu(), cmap="viridis", vmin=0, aspect="equal")
    axes.set_xticks(range(len(source)), source)
    axes.set_yticks(range(len(target)), target)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xlabel("read")
    axes.set_ylabel("written")
    figure.savefig(path, dpi=150)


def as_text(pattern: Float[Tensor, "target source"], target: Sequence[str], source: Sequence[str]) -> str:
    """The same in characters, for a terminal; tokens of several letters show their first."""
    lines = ["  " + "".join(token[:1] for token in source)]
    for token, row in zip(target, pattern, strict=True):
        levels = (row / row.max().clamp(min=1e-9) * (len(SHADES) - 1)).round().int().tolist()
        lines.append(f"{token[:1]} " + "".join(SHADES[level] for level in levels))
    return "\n".join(lines)
