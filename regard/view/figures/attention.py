"""Figures of attention weights: alignment, one head as a map or as lines, all heads at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.core.errors import ConfigError, UserError
from regard.tasks.recording import AttentionMap, Recording
from regard.view.figures.canvas import BAR_COLOUR, MAX_LABELS, colour_bar, draw_map, escape, new_figure
from regard.view.pictures import align
from regard.view.pictures.attention import find_map
from regard.view.pictures.values import downsample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_WEIGHT = 0.01  # thinner lines could not be seen


def alignment_figure(recordings: Sequence[tuple[str, Recording]], attention: str | None, head: int | None) -> "Figure":
    """The attention of each target token to the source: a map for each run, all on one colour scale."""
    alignments = [(name, align(recording, attention, head)) for name, recording in recordings]
    width = sum(1.4 + 0.24 * len(one.source) for _, one in alignments) + 0.9
    height = 1.2 + 0.24 * max(len(one.target) for _, one in alignments)
    figure, all_axes = new_figure(max(width, 3), max(height, 2.6), columns=len(alignments))
    vmax = max(float(one.weights.max()) for _, one in alignments)
    for axes, (name, one) in zip(all_axes, alignments, strict=True):
        image = draw_map(axes, one.weights, one.target, one.source, vmax)
        axes.set_xlabel("source")
        axes.set_ylabel("target")
        if len(alignments) > 1:
            axes.set_title(escape(name))
    colour_bar(figure, image, all_axes)
    return figure


def head_figure(recording: Recording, attention: str, head: int) -> "Figure":
    """All weights of one head as a map."""
    attention_map = _with_head(recording, attention, head)
    _, queries, keys = attention_map.pattern.shape
    figure, [axes] = new_figure(min(12, 2.5 + 0.22 * keys), min(12, max(2.6, 1.6 + 0.22 * queries)))
    pattern = attention_map.pattern[head]
    image = draw_map(axes, pattern, attention_map.queries, attention_map.keys, float(pattern.max()))
    axes.set_title(f"{attention}, head {head}")
    axes.set_xlabel("key")
    axes.set_ylabel("query")
    colour_bar(figure, image, axes)
    return figure


def lines_figure(recording: Recording, attention: str, head: int) -> "Figure":
    """Lines from each query to its keys, thicker for larger weights."""
    attention_map = _with_head(recording, attention, head)
    rows = max(len(attention_map.queries), len(attention_map.keys))
    if rows > MAX_LABELS:
        raise ConfigError(f"--as lines: draws up to {MAX_LABELS} tokens, not {rows}; use --as map")
    figure, [axes] = new_figure(5, 0.9 + 0.22 * rows)
    for query, weights in enumerate(attention_map.pattern[head].tolist()):
        for key, weight in enumerate(weights):
            if weight >= MIN_WEIGHT:
                width, alpha = 0.4 + 4 * weight, 0.15 + 0.75 * weight
                axes.plot([0, 1], [query, key], color=BAR_COLOUR, linewidth=width, alpha=alpha)
    for x, tokens, side in ((-0.03, attention_map.queries, "right"), (1.03, attention_map.keys, "left")):
        for place, token in enumerate(tokens):
            axes.text(x, place, escape(token), ha=side, va="center", fontsize=9)
    title = f"{attention}, head {head}: queries (left) to keys (right)"
    axes.set(xlim=(-0.6, 1.6), ylim=(rows - 0.5, -0.5), title=title)
    axes.axis("off")
    return figure


def overview_figure(recording: Recording) -> "Figure":
    """Every head of every attention on one colour scale, which grows with the square root of the weight."""
    from matplotlib.colors import PowerNorm

    if not recording.maps:
        raise UserError("this model has no attention to draw")
    heads = max(len(one.pattern) for one in recording.maps)
    width, height = 1.3 * heads + 2.2, max(2.6, 1.3 * len(recording.maps) + 0.4)
    figure, all_axes = new_figure(width, height, heads, len(recording.maps))
    small = [downsample(one.pattern, 256) for one in recording.maps]
    norm = PowerNorm(0.5, vmin=0, vmax=max(float(one.max()) for one in small))
    for number, axes in enumerate(all_axes):
        layer, head = divmod(number, heads)
        axes.set_xticks([])
        axes.set_yticks([])
        if number < heads:
            axes.set_title(f"head {head}", fontsize=8)
        if head == 0:
            axes.set_ylabel(recording.maps[layer].name, fontsize=8, rotation=0, ha="right", va="center")
        if head < len(small[layer]):
            image = axes.imshow(small[layer][head].cpu(), cmap="viridis", norm=norm, aspect="auto")
        else:
            axes.axis("off")
    colour_bar(figure, image, all_axes)
    return figure


def _with_head(recording: Recording, attention: str, head: int) -> AttentionMap:
    attention_map = find_map(recording, attention)
    if not 0 <= head < len(attention_map.pattern):
        raise ConfigError(f"--head {head}: {attention} has {len(attention_map.pattern)} heads, numbered from 0")
    return attention_map
