"""The figure of attention on an image."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from regard.tasks.recording import Recording
from regard.view.figures.canvas import colour_bar, escape, new_figure
from regard.view.numbers import format_percent
from regard.view.pictures.image import as_rgb, image_of, last_map, patch_weights, rollout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

OPACITY = 0.6  # of the weights drawn over the image
MIN_SCALE = 4.0  # times uniform: the colour scale reaches at least so far, so that near-uniform attention looks even


def image_figure(recordings: Sequence[tuple[str, Recording]], attention: str | None, head: int | None) -> "Figure":
    """The image as each run reads it, and over it the attention of the pooling: of one layer, and rolled out up to it.

    Colours show multiples of the uniform weight, on one scale for all runs, whose numbers of patches may differ.
    """
    figure, all_axes = new_figure(9.0, 3.1 * len(recordings), columns=3, rows=len(recordings))
    rows = [_relative_weights(recording, attention, head) for _, recording in recordings]
    vmax = max(MIN_SCALE, *(float(weights.max()) for row in rows for weights in row))
    for number, ((name, recording), weights) in enumerate(zip(recordings, rows, strict=True)):
        row_axes = all_axes[3 * number : 3 * number + 3]
        label, probability = recording.probabilities[0]
        chosen = attention or last_map(recording)
        titles = [
            f"{label} {format_percent(probability)}",
            f"{chosen}, {'mean of all heads' if head is None else f'head {head}'}",
            "rollout" if attention is None else f"rollout to {attention}",
        ]
        for axes, title, values in zip(row_axes, titles, (None, *weights), strict=True):
            drawn = _overlay(axes, recording, values, vmax)
            axes.set_title(escape(title), fontsize=9)
        if len(recordings) > 1:
            row_axes[0].set_ylabel(escape(name), fontsize=8)
    assert drawn is not None
    colour_bar(figure, drawn, all_axes, "attention weight, multiples of uniform")
    return figure


def _relative_weights(recording: Recording, attention: str | None, head: int | None) -> tuple[Tensor, Tensor]:
    """The weights of the pooling on the patches, in the chosen attention and rolled out, as multiples of uniform."""
    weights = patch_weights(recording, attention or last_map(recording), head)[0], rollout(recording, attention)[0]
    return weights[0] * len(weights[0]), weights[1] * len(weights[1])


def _overlay(axes: "Axes", recording: Recording, weights: Tensor | None, vmax: float) -> "AxesImage | None":
    image = image_of(recording)
    side = image.pixels.shape[-1]
    axes.imshow(as_rgb(image).numpy(), extent=(0, side, side, 0))
    axes.set_xticks([])
    axes.set_yticks([])
    if weights is None:
        return None
    grid = weights.view(image.patches, image.patches).cpu().numpy()
    return axes.imshow(grid, extent=(0, side, side, 0), cmap="viridis", vmin=0, vmax=vmax, alpha=OPACITY)
