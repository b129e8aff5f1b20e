"""Measurements as text: a table on a terminal, one line a figure in a file or a pipe."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from regard.bench.measurement import Figure, Measurement


def grid(measurement: Measurement) -> Table:
    peers = list(dict.fromkeys(name for figure in measurement.figures for name in figure.peers))
    memory = any(figure.memory is not None for figure in measurement.figures)
    title, notes = Text(f"{measurement.name}: ", "bold"), "\n".join(measurement.notes)
    title.append(measurement.about, "not bold")
    table = Table(
        title=title, title_justify="left", title_style="", caption=notes or None, caption_justify="left",
        box=None, pad_edge=False, header_style="dim", show_header=bool(peers or memory),
    )  # fmt: skip
    table.add_column("", no_wrap=True)
    for head in ["regard", *["of memory"] * memory, *peers]:
        table.add_column(head, justify="right")
    for figure in measurement.figures:
        share = [f"{figure.memory:.0%}" if figure.memory is not None else ""] * memory
        others = (
            f"{number(figure.peers[name])} ({figure.ratio(name):.2f}×)" if name in figure.peers else "–"
            for name in peers
        )
        table.add_row(figure.what, f"[bold]{number(figure.value)}[/] {figure.unit}", *share, *others)
    return table


def lines(measurement: Measurement) -> Iterator[str]:
    yield f"{measurement.name}: {measurement.about}"
    for figure in measurement.figures:
        yield f"{measurement.name}: {figure.what}: {', '.join(parts(figure))}"
    for note in measurement.notes:
        yield f"{measurement.name}: {note}"


def parts(figure: Figure) -> Iterator[str]:
    yield f"{number(figure.value)} {figure.unit}"
    if figure.memory is not None:
        yield f"{figure.memory:.0%} of the memory bandwidth"
    for name, value in figure.peers.items():
        yield f"{figure.ratio(name):.2f} × the speed of {name} ({number(value)} {figure.unit})"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
