"""Figures of a family: contacts, attention between residues, attention between sequences beside their identity."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from regard.tasks.recording import Recording
from regard.view.figures.canvas import MAX_LABELS, colour_bar, draw_map, escape, new_figure
from regard.view.pictures.family import (
    ABOVE,
    compared,
    family_of,
    known_above,
    last_of,
    residue_pattern,
    sequence_patterns,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNKNOWN = "#d4d9de"  # pairs that are not predicted, or whose distance is unknown
SIDE = 5.2  # inches of a map


def contacts_figure(recordings: Sequence[tuple[str, Recording]]) -> "Figure":
    """The contact map of each run: predictions below the diagonal, the structure or couplings above it."""
    figure, all_axes = new_figure(SIDE * len(recordings) + 0.8, SIDE, columns=len(recordings))
    for axes, (name, recording) in zip(all_axes, recordings, strict=True):
        _draw_contacts(axes, recording)
        if len(recordings) > 1:
            axes.set_ylabel(escape(name))
    colour_bar(figure, all_axes[-1].images[0], all_axes, "probability of a contact")
    return figure


def residues_figure(recording: Recording, attention: str | None, head: int | None) -> "Figure":
    attention = attention or last_of(family_of(recording).rows, "residues")
    pattern = residue_pattern(recording, attention, head)
    figure, [left, right] = new_figure(2 * SIDE + 1.6, SIDE, columns=2)
    _draw_contacts(left, recording)
    _draw_square(
        right, pattern, _name(attention, head), float(pattern.max()), "attention weight", family_of(recording).residues
    )
    colour_bar(figure, left.images[0], left, "probability of a contact")
    return figure


def sequences_figure(recording: Recording, attention: str | None, head: int | None) -> "Figure":
    """The mean over residues of the attention between sequences."""
    family = family_of(recording)
    attention = attention or last_of(family.columns, "sequences")
    pattern = sequence_patterns(recording, attention, head).mean(0)
    figure, [left, right] = new_figure(2 * SIDE + 1.6, SIDE, columns=2)
    _draw_square(left, pattern, _name(attention, head), float(pattern.max()), "attention weight", family.sequences)
    _draw_square(
        right, family.identity, "identity of the sequences", 1.0, "fraction of equal letters", family.sequences
    )
    return figure


def _draw_contacts(axes: "Axes", recording: Recording) -> None:
    from matplotlib import colormaps

    family = family_of(recording)
    what = ABOVE[known_above(family)[0]]
    first, last = family.first - 0.5, family.first + len(family.residues) - 0.5
    colours = colormaps["viridis"].with_extremes(bad=UNKNOWN)
    axes.imshow(compared(family).numpy(), cmap=colours, vmin=0, vmax=1, extent=(first, last, last, first))
    axes.set(xlabel="residue", ylabel="residue")
    axes.set_title(f"below: predicted contacts; above: {what}", fontsize=9)


def _draw_square(axes: "Axes", weights: Tensor, title: str, vmax: float, label: str, names: Sequence[str]) -> None:
    image = draw_map(axes, weights, names, names, vmax)
    if len(names) <= MAX_LABELS:
        axes.tick_params(labelsize=max(4, min(8, 400 // len(names))))
    axes.set_title(title, fontsize=9)
    axes.figure.colorbar(image, ax=axes, shrink=0.7).set_label(label, fontsize=8)


def _name(attention: str, head: int | None) -> str:
    return f"{attention}, {'mean of heads' if head is None else f'head {head}'}"
