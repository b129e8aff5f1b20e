"""The same pictures for papers: PNG, SVG or PDF by matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import torch

from regard.core.errors import ConfigError, UserError
from regard.core.files import replacing
from regard.view.pictures import aligned
from regard.view.pictures.attention import find_look
from regard.view.pictures.groups import grouped, together
from regard.view.pictures.image import in_colours, last_look, on_patches, rollout, seen_of
from regard.view.pictures.positions import PositionMap
from regard.view.pictures.training import training_picture
from regard.view.pictures.values import shrunk
from regard.view.recording import Look, Recording
from regard.view.rest import Rest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".pdf")
LABELLED = 80  # tokens on a side: more could not be read
VEIL = 0.6  # how much of an image the weights on it cover
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by the colour-blind
STROKES = ("-", (0, (7, 3)), (0, (2, 3)), (0, (9, 3, 2, 3)), (0, (16, 4)))  # beyond the colours, the same in others
LEAST = 0.01  # weight of a line that can be seen


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
    """A map of all weights of a head."""
    found = _with_head(recording, look, head)
    _, queries, keys = found.pattern.shape
    figure, [axes] = _figure(min(12, 1.6 + 0.22 * keys), min(12, 1.6 + 0.22 * queries))
    _map(axes, found.pattern[head], found.queries, found.keys)
    axes.set_title(f"{look}, head {head}")
    axes.set_xlabel("at")
    axes.set_ylabel("looks")
    return figure


def lines_figure(recording: Recording, look: str, head: int) -> "Figure":
    """Lines from each token to those that it looks at, thicker by weight."""
    found = _with_head(recording, look, head)
    rows = max(len(found.queries), len(found.keys))
    if rows > LABELLED:
        raise ConfigError(
            f"--as lines: draws up to {LABELLED} tokens, and here are {rows}; `--as map` draws any number"
        )
    figure, [axes] = _figure(5, 0.9 + 0.22 * rows)
    for query, weights in enumerate(found.pattern[head].tolist()):
        for key, weight in enumerate(weights):
            if weight >= LEAST:
                axes.plot([0, 1], [query, key], color="#31688e", linewidth=0.4 + 4 * weight, alpha=0.15 + 0.75 * weight)
    for x, words, side in ((-0.03, found.queries, "right"), (1.03, found.keys, "left")):
        for place, word in enumerate(words):
            axes.text(x, place, _plain(word), ha=side, va="center", fontsize=9)
    axes.set(xlim=(-0.6, 1.6), ylim=(rows - 0.5, -0.5), title=f"{look}, head {head}: left looks at right")
    axes.axis("off")
    return figure


def _with_head(recording: Recording, look: str, head: int) -> Look:
    found = find_look(recording, look)
    if not 0 <= head < len(found.pattern):
        raise ConfigError(f"--head {head}: {look} has {len(found.pattern)}, the first of which is 0")
    return found


def positions_figure(run: str, maps: Sequence[PositionMap]) -> "Figure":
    """The codes by which a model tells places apart."""
    if not maps:
        raise UserError(f"{run}: its model has no code of positions: it knows order otherwise, or not at all")
    figure, all_axes = _figure(4.2 * len(maps), 4.6, columns=len(maps))
    for axes, one in zip(all_axes, maps, strict=True):
        drawn = axes.imshow(one.values.detach().cpu().numpy(), cmap="viridis", aspect="auto")
        axes.set_title(f"{one.stack}\n{one.title}", fontsize=8)
        axes.set_ylabel(one.down)
        axes.set_xlabel(one.across)
        figure.colorbar(drawn, ax=axes, shrink=0.6)
    return figure


def evidence_figure(rest: Rest) -> "Figure":
    """What a prediction rests on: columns by how far it moves without them, and known rows by their weight."""
    if not rest.rows:
        raise UserError("this prediction names no known rows: there is no evidence to draw")
    columns = rest.columns[:LABELLED]
    high = max(len(columns), len(rest.rows))
    figure, [left, right] = _figure(11, 1.4 + 0.26 * high, columns=2)
    _bars(left, [name for name, _ in columns], [100 * weight for _, weight in columns])
    left.set_xlabel("% that the prediction moves without the column")
    told = [f"row {number}, {target}" for number, _, target, _ in rest.rows]
    _bars(right, told, [weight for _, weight, *_ in rest.rows])
    right.set_xlabel("weight of the known row")
    for axes in (left, right):
        axes.set_ylim(high - 0.5, -0.5)  # bars of one size on both sides
    figure.suptitle(_plain(rest.told))
    return figure


def _bars(axes: "Axes", words: Sequence[str], values: Sequence[float]) -> None:
    axes.barh(range(len(words)), values, color="#31688e")
    axes.set_yticks(range(len(words)), [_plain(shorten(word, 40, placeholder=" …")) for word in words])
    axes.grid(axis="x", alpha=0.3)


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
    """Losses, learning rate and speed of runs, over each other; seeds of a study as their mean with a band."""
    found = [(name, [training_picture(path)["curves"] for path in own]) for name, own in grouped(runs).items()]
    known = {name for _, own in found for curves in own for name in curves}
    rates = ("rate", "lr_adamw") if "rate" in known else ("lr_multiplier",)  # of older runs the share is all there is
    title = "learning rate" if "rate" in known else "learning rate (share)"
    title += " (thin: of the rest)" if "lr_adamw" in known else ""
    losses = "loss, nats (dots: validation)" if "valid" in known else "loss, nats"
    panels = ((losses, ("loss", "valid")), (title, rates), ("speed", ("speed",)))
    drawn = [panel for panel in panels if known.intersection(panel[1])]
    if not drawn:
        raise UserError(f"{runs[0]}: has logged nothing yet, so there are no curves")
    figure, all_axes = _figure(5 * len(drawn), 3.4, columns=len(drawn))
    for axes, (title, names) in zip(all_axes, drawn, strict=True):
        lows = [
            _curve(axes, number, group, name, curves)
            for number, (group, own) in enumerate(found)
            for name in names
            if (curves := [one[name] for one in own if name in one])
        ]
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
        if names[0] == "loss" and min(lows) > 0:
            axes.set_yscale("log")
    named = dict(zip(*reversed(all_axes[0].get_legend_handles_labels()), strict=True))
    figure.legend(
        named.values(), named, loc="outside lower center", ncols=min(6, len(named)), frameon=False, fontsize=8
    )
    return figure


def _curve(axes: "Axes", number: int, group: str, name: str, curves: Sequence[dict[str, Any]]) -> float:
    """The mean of the curves of a group, with a band where they are several; gives its lowest value."""
    style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)]}
    steps, mean, low, high = together(curves)
    stroke = STROKES[number // len(COLOURS) % len(STROKES)]
    lonely = len(steps) == 1  # a line through one point is nothing
    marker, width = "." if name == "valid" or lonely else "", 0.8 if name == "lr_adamw" else 1.5
    axes.plot(steps, mean, label=group, marker=marker, alpha=0.8, linestyle=stroke, linewidth=width, **style)
    if len(curves) > 1:
        axes.fill_between(steps, low, high, alpha=0.18, linewidth=0, **style)
    return float(low.min())


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
