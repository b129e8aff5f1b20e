"""The same pictures for papers: PNG, SVG or PDF by matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard.core.errors import ConfigError, UserError
from regard.core.files import replacing
from regard.view.pictures import aligned
from regard.view.pictures.attention import find_look
from regard.view.pictures.image import in_colours, last_look, on_patches, rollout, seen_of
from regard.view.pictures.training import training_picture
from regard.view.pictures.values import shrunk
from regard.view.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".pdf")
LABELLED = 80  # tokens on a side: more could not be read
VEIL = 0.6  # how much of an image the weights on it cover
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by the colour-blind


def check_file(path: Path) -> None:
    if path.suffix.lower() not in KINDS:
        raise ConfigError(f"--out {path}: must end with one of {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: there is no such folder")


def alignment_figure(recordings: Sequence[tuple[str, Recording]], look: str | None, head: int | None) -> "Figure":
    """What of the source each token of the target looked at, a map for each run."""
    found = [(name, aligned(recording, look, head)) for name, recording in recordings]
    wide = sum(1.4 + 0.24 * len(one.source) for _, one in found)
    high = 1.2 + 0.24 * max(len(one.target) for _, one in found)
    figure, all_axes = _figure(max(wide, 3), high, columns=len(found))
    for axes, (name, one) in zip(all_axes, found, strict=True):
        _map(axes, one.weights, one.target, one.source)
        axes.set_xlabel("read")
        axes.set_ylabel("written")
        if len(found) > 1:
            axes.set_title(name)
    return figure


def head_figure(recording: Recording, look: str, head: int) -> "Figure":
    found = find_look(recording, look)
    heads, queries, keys = found.pattern.shape
    if not 0 <= head < heads:
        raise ConfigError(f"--head {head}: {look} has {heads}, the first of which is 0")
    figure, [axes] = _figure(min(12, 1.6 + 0.22 * keys), min(12, 1.6 + 0.22 * queries))
    _map(axes, found.pattern[head], found.queries, found.keys)
    axes.set_title(f"{look}, head {head}")
    axes.set_xlabel("at")
    axes.set_ylabel("looks")
    return figure


def overview_figure(recording: Recording) -> "Figure":
    """Every head of every attention; each map is brightest at its own largest weight."""
    if not recording.looks:
        raise UserError("this model has no attention to draw")
    heads = max(len(look.pattern) for look in recording.looks)
    figure, all_axes = _figure(1.3 * heads + 1.2, 1.3 * len(recording.looks) + 0.4, heads, len(recording.looks))
    for number, axes in enumerate(all_axes):
        look, head = recording.looks[number // heads], number % heads
        axes.set_xticks([])
        axes.set_yticks([])
        if number < heads:
            axes.set_title(f"head {head}", fontsize=8)
        if head == 0:
            axes.set_ylabel(look.name, fontsize=8, rotation=0, ha="right", va="center")
        if head < len(look.pattern):
            axes.imshow(shrunk(look.pattern[head : head + 1], 256)[0].cpu(), cmap="viridis", vmin=0, aspect="auto")
        else:
            axes.axis("off")
    return figure


def image_figure(recordings: Sequence[tuple[str, Recording]], look: str | None, head: int | None) -> "Figure":
    """An image as each run reads it, and on it what the pool looks at: in one layer, and rolled out up to it."""
    figure, all_axes = _figure(8.4, 3.1 * len(recordings), columns=3, rows=len(recordings))
    for number, (name, recording) in enumerate(recordings):
        chosen = look or last_look(recording)
        title = f"{chosen}, {'all heads' if head is None else f'head {head}'}"
        drawn = [
            (f"{recording.answer} {recording.chances[0][1]:.0%}", None),
            (title, on_patches(recording, chosen, head)[0]),
            ("rollout" if look is None else f"rollout to {look}", rollout(recording, look)[0]),
        ]
        for axes, (words, weights) in zip(all_axes[3 * number :], drawn, strict=False):
            seen = seen_of(recording)
            side = seen.pixels.shape[-1]
            axes.imshow(in_colours(seen).numpy(), extent=(0, side, side, 0))
            if weights is not None:
                on_grid = weights.view(seen.patches, seen.patches).cpu().numpy()
                axes.imshow(on_grid, extent=(0, side, side, 0), cmap="viridis", vmin=0, alpha=VEIL)
            axes.set_title(_plain(words), fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
        if len(recordings) > 1:
            all_axes[3 * number].set_ylabel(_plain(name), fontsize=8)
    return figure


def training_figure(runs: Sequence[Path]) -> "Figure":
    """Losses, learning rate and speed of runs, over each other."""
    found = [(str(path), training_picture(path)["curves"]) for path in runs]
    panels = (("loss, nats", ("loss", "valid")), ("learning rate (share)", ("rate_share",)), ("speed", ("speed",)))
    drawn = [panel for panel in panels if any(name in curves for _, curves in found for name in panel[1])]
    if not drawn:
        raise UserError(f"{runs[0]}: has logged nothing yet, so there are no curves")
    figure, all_axes = _figure(5 * len(drawn), 3.4, columns=len(drawn))
    for axes, (title, names) in zip(all_axes, drawn, strict=True):
        for number, (run, curves) in enumerate(found):
            for name in names:
                if name in curves:
                    marker, label = (".", f"{run}, validation") if name == "valid" else ("", run)
                    colour, own = COLOURS[number % len(COLOURS)], curves[name]
                    axes.plot(own["steps"], own["values"], color=colour, label=label, marker=marker, alpha=0.8)
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
        values = [
            value for _, curves in found for name in names for value in curves.get(name, {"values": ()})["values"]
        ]
        if names[0] == "loss" and min(values) > 0:
            axes.set_yscale("log")
    all_axes[0].legend(frameon=False, fontsize=8)
    return figure


def save(figure: "Figure", path: Path) -> None:
    """Whole or not at all, and the same bytes for the same picture."""
    import matplotlib

    date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with matplotlib.rc_context({"svg.hashsalt": "regard"}), replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=200, metadata=date)


def _figure(width: float, height: float, columns: int = 1, rows: int = 1) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def _map(axes: "Axes", weights: torch.Tensor, down: Sequence[str], across: Sequence[str]) -> None:
    axes.imshow(weights.cpu(), cmap="viridis", vmin=0, aspect="equal" if max(len(down), len(across)) < 400 else "auto")
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    if len(across) <= LABELLED:
        axes.set_xticks(range(len(across)), map(_plain, across), rotation=60, ha="left")
    if len(down) <= LABELLED:
        axes.set_yticks(range(len(down)), map(_plain, down))


def _plain(label: str) -> str:
    """A token as it is: matplotlib would read dollar signs as mathematics."""
    return label.replace("$", r"\$")
