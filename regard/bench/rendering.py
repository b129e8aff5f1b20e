"""Measurements as text: a table on a terminal, one line a figure in a file or a pipe."""

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from regard.bench.measurement import Figure, Measurement


def screen(measurement: Measurement) -> Group:
    """A heading, a table, and what was left out."""
    heading = Text.assemble((measurement.name, "bold"), f": {measurement.about}")
    return Group(heading, *([grid(measurement.figures)] if measurement.figures else []), *map(Text, measurement.notes))


def grid(figures: Sequence[Figure]) -> Table:
    peers = list(dict.fromkeys(name for figure in figures for name in figure.peers))
    memory = any(figure.memory is not None for figure in figures)
    table = Table(box=None, header_style="dim", show_header=bool(peers or memory))
    table.add_column("", no_wrap=True)
    for head in ["regard", *["memory"] * memory, *peers]:
        table.add_column(head, justify="right", no_wrap=True)
    for figure in figures:
        row = [figure.what, f"[bold]{number(figure.value)}[/] {figure.unit}"]
        if memory:
            row.append("" if figure.memory is None else f"{figure.memory:.0%}")
        for name in peers:
            known = name in figure.peers
            row.append(f"{number(figure.peers[name])} ({ratio(figure, name)})" if known else "–")
        table.add_row(*row)
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
        yield f"{ratio(figure, name)} the speed of {name} ({number(value)} {figure.unit})"


def ratio(figure: Figure, peer: str) -> str:
    return f"{number(figure.ratio(peer))}×"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
