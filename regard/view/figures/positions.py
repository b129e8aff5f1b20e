"""The figure of a model's position encodings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.core.errors import UserError
from regard.view.figures.canvas import colour_bar, new_figure
from regard.view.pictures.positions import PositionMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def positions_figure(run: str, maps: Sequence[PositionMap]) -> "Figure":
    if not maps:
        raise UserError(f"{run}: its model has no position encoding to draw")
    figure, all_axes = new_figure(4.2 * len(maps), 4.6, columns=len(maps))
    for axes, one in zip(all_axes, maps, strict=True):
        image = axes.imshow(one.values.detach().cpu().numpy(), cmap="viridis", aspect="auto")
        axes.set_title(f"{one.stack}\n{one.title}", fontsize=8)
        axes.set_ylabel(one.down)
        axes.set_xlabel(one.across)
        colour_bar(figure, image, axes, "value")
    return figure
