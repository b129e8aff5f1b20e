"""The distance study in words and plots."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from regard.studies.runner.plots import canvas, draw_lines, plot_lines
from regard.studies.runner.report import Block, Grid, Heading, Picture, Words, command, write_report


def report_distance(
    folder: Path,
    right: Mapping[str, Mapping[int, Sequence[float]]],
    costs: Sequence[Mapping[str, Any]],
    steps: int,
    chance: float,
) -> None:
    """`right` has for each model and distance the share of texts told right, seed by seed."""
    blocks: list[Block] = [command(), Heading("How far back a model recalls")]
    blocks += [Words(_question(steps, chance, right)), _recalled(right), _recall_table(right)]
    blocks += [Heading("What it costs to let everything meet"), Words(_costs_told()), _cost_picture(costs)]
    blocks += [_cost_table(costs)]
    write_report(folder, "Distance: recurrence and attention", blocks)


def _question(steps: int, chance: float, right: Mapping[str, Mapping[int, Sequence[float]]]) -> str:
    seeds = len(next(iter(next(iter(right.values())).values())))
    mean = f", the mean of {seeds} seeds" if seeds > 1 else ""
    return (
        "One letter in the middle of random ones is marked; after the text it is to be named. The distance is how many "
        f"letters stand between it and either end. Every model learns for {steps:,} steps of 32 new texts; shown is "
        f"the share of 200 others that is told right{mean}. Guessing gives {chance:.1%}."
    )


def _recalled(right: Mapping[str, Mapping[int, Sequence[float]]]) -> Picture:
    lines = {kind: [(float(k), fmean(shares)) for k, shares in each.items()] for kind, each in right.items()}
    return Picture("recall", draw_lines(lines, "distance", "told right", log="x"), "Recall by distance.")


def _recall_table(right: Mapping[str, Mapping[int, Sequence[float]]]) -> Grid:
    distances = list(next(iter(right.values())))
    rows = [
        [kind, *(" / ".join(f"{share:.1%}" for share in each[k]) for k in distances)] for kind, each in right.items()
    ]
    return Grid(["model", *(f"distance {k}" for k in distances)], rows)


def _costs_told() -> str:
    return (
        "One layer of width 64 on one thread, there and back. Memory is what is kept for the way back, for each text. "
        "Waiting counts steps that must come one after the other until the last token has heard of every other: of a "
        "recurrent layer its length, of attention its layers, followed through who looks at whom. Full attention runs "
        "by the fused kernel, which never keeps its pattern: its time grows with the square of the length, its memory "
        "does not."
    )


def _cost_picture(costs: Sequence[Mapping[str, Any]]) -> Picture:
    with canvas(10, 3.4, columns=3) as drawing:
        names = {"milliseconds": "ms", "kibibytes": "KiB kept", "waiting": "steps that wait"}
        for axes, (key, label) in zip(drawing.axes, names.items(), strict=True):
            lines: dict[str, list[tuple[float, float]]] = {}
            for cost in costs:
                lines.setdefault(cost["kind"], []).append((cost["length"], cost[key]))
            plot_lines(axes, lines, "length", label, "xy", legend=key == "milliseconds")  # where lines leave room
    return Picture("costs", drawing.svg, "Time, memory and steps that wait for each other, by length.")


def _cost_table(costs: Sequence[Mapping[str, Any]]) -> Grid:
    rows = [
        [c["kind"], f"{c['length']:,}", f"{c['milliseconds']:.1f}", f"{c['kibibytes']:,.0f}", f"{c['waiting']:,}"]
        for c in sorted(costs, key=lambda c: (c["kind"], c["length"]))
    ]
    return Grid(["layer", "length", "ms", "KiB kept", "steps that wait"], rows)
