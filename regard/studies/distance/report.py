"""The report of the distance study."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from regard.studies.runner.plots import canvas, draw_lines, plot_lines
from regard.studies.runner.report import Block, Figure, Heading, Paragraph, Table, command, write_report

Accuracies = Mapping[str, Mapping[int, Sequence[float]]]  # by model and distance, for every seed


def report_distance(
    folder: Path, accuracies: Accuracies, costs: Sequence[Mapping[str, Any]], steps: int, guessing: float
) -> None:
    """`chance` is the accuracy of guessing."""
    blocks: list[Block] = [command(), Heading("Recall by distance")]
    blocks += [Paragraph(_task(steps, guessing, accuracies)), _recall_figure(accuracies), _recall_table(accuracies)]
    blocks += [Heading("Cost by length"), Paragraph(COSTS), _cost_figure(costs), _cost_table(costs)]
    write_report(folder, "Distance: recurrence and attention", blocks)


def _task(steps: int, guessing: float, accuracies: Accuracies) -> str:
    seeds = len(next(iter(next(iter(accuracies.values())).values())))
    mean = f", the mean of {seeds} seeds" if seeds > 1 else ""
    return (
        "One letter in the middle of a random text is marked, and the model must name it after reading the text. The "
        f"distance is the number of letters between it and either end. Every model trains for {steps:,} steps of 32 "
        f"new texts; the plot shows the accuracy on 200 others{mean}. Guessing gives {guessing:.1%}."
    )


def _recall_figure(accuracies: Accuracies) -> Figure:
    lines = {model: [(float(d), fmean(seeds)) for d, seeds in each.items()] for model, each in accuracies.items()}
    return Figure("recall", draw_lines(lines, "distance", "accuracy", log="x"), "Recall by distance.")


def _recall_table(accuracies: Accuracies) -> Table:
    distances = list(next(iter(accuracies.values())))
    rows = [
        [model, *(" / ".join(f"{accuracy:.1%}" for accuracy in each[d]) for d in distances)]
        for model, each in accuracies.items()
    ]
    return Table(["model", *(f"distance {d}" for d in distances)], rows)


COSTS = (
    "One layer of width 64 on one thread, forward and backward. Memory is what is saved for the backward pass, per "
    "text. Sequential steps cannot run in parallel: they are counted until the last token depends on every other. For "
    "a recurrent layer that is the length, for attention the number of layers, followed through the attention pattern. "
    "Full attention runs in the fused kernel, which never stores the pattern: its time grows with the square of the "
    "length, its memory does not."
)


def _cost_figure(costs: Sequence[Mapping[str, Any]]) -> Figure:
    with canvas(10, 3.4, columns=3) as drawing:
        names = {"milliseconds": "ms", "kibibytes": "KiB saved", "sequential_steps": "sequential steps"}
        for axes, (key, label) in zip(drawing.axes, names.items(), strict=True):
            lines: dict[str, list[tuple[float, float]]] = {}
            for cost in costs:
                lines.setdefault(cost["layer"], []).append((cost["length"], cost[key]))
            plot_lines(axes, lines, "length", label, "xy", legend=key == "milliseconds")  # where there is room for it
    return Figure("costs", drawing.svg, "Time, memory and sequential steps by length.")


def _cost_table(costs: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        [
            cost["layer"],
            f"{cost['length']:,}",
            f"{cost['milliseconds']:.1f}",
            f"{cost['kibibytes']:,.0f}",
            f"{cost['sequential_steps']:,}",
        ]
        for cost in sorted(costs, key=lambda cost: (cost["layer"], cost["length"]))
    ]
    return Table(["layer", "length", "ms", "KiB saved", "sequential steps"], rows)
