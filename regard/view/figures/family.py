"""Figures of a family: contacts, attention between residues, attention between sequences beside their identity."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.tasks.recording import Recording
from regard.view.figures.canvas import colour_bar, draw_map, escape, new_figure
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
MIN_SCALE = 2.0  # times uniform: the colour scale reaches at least so far, so that near-uniform attention looks even


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
    image = right.imshow(pattern.numpy(), cmap="viridis", vmin=0, extent=_extent(recording))
    right.set(xlabel="key: residue", ylabel="query: residue")
    right.set_title(_name(attention, head), fontsize=9)
    colour_bar(figure, left.images[0], left, "probability of a contact")
    colour_bar(figure, image, right)
    return figure


def sequences_figure(recording: Recording, attention: str | None, head: int | None) -> "Figure":
    """The mean over residues of the attention between sequences."""
    family = family_of(recording)
    attention = attention or last_of(family.columns, "sequences")
    pattern = sequence_patterns(recording, attention, head).mean(0)
    figure, [left, right] = new_figure(2 * SIDE + 1.6, SIDE, columns=2)
    vmax = max(float(pattern.max()), MIN_SCALE / len(pattern))
    left_map = draw_map(left, pattern, family.sequences, family.sequences, vmax)
    right_map = draw_map(right, family.identity, family.sequences, family.sequences, 1.0)
    for axes, title in ((left, _name(attention, head)), (right, "identity of the sequences")):
        axes.set_xlabel(title)
        axes.tick_params(labelsize=max(4, min(8, 400 // len(family.sequences))))
    colour_bar(figure, left_map, left)
    colour_bar(figure, right_map, right, "fraction of equal letters")
    return figure


def _draw_contacts(axes: "Axes", recording: Recording) -> None:
    from matplotlib import colormaps

    family = family_of(recording)
    colours = colormaps["viridis"].with_extremes(bad=UNKNOWN)
    axes.imshow(compared(family).numpy(), cmap=colours, vmin=0, vmax=1, extent=_extent(recording))
    axes.set(xlabel="residue", ylabel="residue")
    axes.set_title(f"below: predicted contacts; above: {ABOVE[known_above(family)[0]]}", fontsize=9)


def _extent(recording: Recording) -> tuple[float, float, float, float]:
    """Residues are counted from 1."""
    family = family_of(recording)
    first, last = family.first - 0.5, family.first + len(family.residues) - 0.5
    return first, last, last, first


def _name(attention: str, head: int | None) -> str:
    return f"{attention}, {'mean of heads' if head is None else f'head {head}'}"
