"""A scaling study in words: laws with their intervals, the best size for a budget, a prediction that was checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.core.config import to_yaml
from regard.recipes import Plan
from regard.studies.runner.learning_rate import Rate, rate_blocks
from regard.studies.runner.plots import canvas, plot_lines
from regard.studies.runner.report import Block, Grid, Heading, Lines, Picture, Words, command, write_report
from regard.studies.scale.best_size import MANY_PASSES, BestSize, whole
from regard.studies.scale.laws import LEVEL, Interval, JointFit, Point, PowerLaw, fit_power
from regard.train import AdamW


@dataclass(frozen=True)
class Scaled:
    data: Sequence[str]
    points: Mapping[str, Point]
    fit: JointFit
    foretold: Mapping[str, Any]
    large: str
    work: tuple[int, int, float]  # of the large run, as its embeddings and its loss are
    embedding: int
    loss: float | None
    best: Sequence[BestSize]
    plan: Plan
    epoch: int  # steps of a pass over the data
    rate: Rate  # of the smallest size


def report_scaling(folder: Path, found: Scaled) -> None:
    laws = _laws(found)
    blocks: list[Block] = [command(), Words(_verdict(found)), _picture(found)]
    blocks += [Heading("The laws"), Words(_joint(found.fit)), _law_table(laws), Heading("The best size for a budget")]
    blocks += [_best(found.best), Words(f"{_beyond(found.best)}{_intervals(found.fit)}")]
    blocks += [Heading("The runs"), _runs(found), Words(_honest(found))]
    blocks += rate_blocks(found.rate, _rate(found))
    blocks += [Heading("Settings of a run"), Lines(to_yaml(found.plan))]
    write_report(folder, f"How loss falls with size: {', '.join(Path(f).name for f in found.data)}", blocks)


def frontier(points: Sequence[Point]) -> list[Point]:
    """Runs that no run with as little work has beaten."""
    return [p for p in points if not any(o.flops <= p.flops and o.loss < p.loss for o in points)]


def _laws(found: Scaled) -> dict[str, tuple[PowerLaw, Interval] | None]:
    points = list(found.points.values())
    most_tokens, most_parameters = max(p.tokens for p in points), max(p.parameters for p in points)
    wide = [p for p in points if p.tokens == most_tokens]
    long = [p for p in points if p.parameters == most_parameters]
    best = frontier(points)
    series = {
        "parameters N, at the most tokens": [(p.parameters, p.loss) for p in wide],
        "tokens D, at the most parameters": [(p.tokens, p.loss) for p in long],
        "operations C, of the best runs": [(p.flops, p.loss) for p in best],
    }
    return {
        name: fit_power([x for x, _ in pairs], [y for _, y in pairs]) if len({x for x, _ in pairs}) > 2 else None
        for name, pairs in series.items()
    }


def _law_table(laws: Mapping[str, tuple[PowerLaw, Interval] | None]) -> Grid:
    rows = []
    for name, law in laws.items():
        told = (
            ["too few runs", "–"] if law is None else [f"L = {law[0].scale:.3g} · x^−{law[0].power:.4f}", str(law[1])]
        )
        rows.append([name, *told])
    return Grid(["loss by", "law", "power"], rows)


def _joint(fit: JointFit) -> str:
    law = fit.law
    told = ", ".join(
        f"{sign} = {fit.interval_of(name)}"
        for sign, name in (("E", "floor"), ("a", "of_parameters"), ("b", "of_tokens"))
    )
    return (
        f"**L(N, D) = {law.floor:.3g} + {law.a:.3g}/N^{law.of_parameters:.3g} + {law.b:.3g}/D^{law.of_tokens:.3g}**, "
        f"N without embeddings. {told}."
    )


def _best(sizes: Sequence[BestSize]) -> Grid:
    rows = [
        [f"{one.flops:.3g}", whole(one.parameters), whole(one.tokens), f"{one.passes:,.0f}", f"{one.loss:.4f}"]
        for one in sizes
    ]
    return Grid(["operations", "parameters", "tokens", "passes over this text", "loss"], rows)


def _beyond(sizes: Sequence[BestSize]) -> str:
    if not any(one.passes > MANY_PASSES for one in sizes):
        return ""
    return (
        f"Where the text would be passed over more than {MANY_PASSES} times, read the row as what as much new text of "
        "the same kind would give: what is seen again teaches less. "
    )


def _verdict(found: Scaled) -> str:
    told = found.foretold["loss"]
    foretold = Interval(told["value"], told["low"], told["high"])
    beyond = found.work[2] / max(p.flops for p in found.points.values())
    begin = (
        f"Before `{found.large}` was made ({beyond:.1f} times the work of the largest run on the grid), its loss was "
        f"foretold as **{foretold.value:.4f}**, between {foretold.low:.4f} and {foretold.high:.4f}."
    )
    if found.loss is None:
        return f"{begin} It diverged."
    inside = "inside" if foretold.holds(found.loss) else "outside"
    return f"{begin} It came to **{found.loss:.4f}**, {inside} that interval ({found.loss / foretold.value - 1:+.1%})."


def _runs(found: Scaled) -> Grid:
    every = dict(found.points)
    if found.loss is not None:
        every[f"{found.large} (foretold)"] = Point(*found.work, found.loss, found.embedding)
    heads = ["run", "parameters", "in embeddings", "tokens", "operations", "loss", "the law says"]
    return Grid(heads, [_row(key, point, found.fit) for key, point in every.items()])


def _row(key: str, run: Point, fit: JointFit) -> list[str]:
    counts = [f"{count:,.0f}" for count in (run.parameters, run.embedding, run.tokens)]
    return [key, *counts, f"{run.flops:.2e}", f"{run.loss:.4f}", f"{fit.law.loss(run.parameters, run.tokens):.4f}"]


def _intervals(fit: JointFit) -> str:
    told = f"Intervals are {LEVEL:.0%}, bootstrapped: the joint law from runs drawn anew, power laws from residuals."
    if fit.missed:
        told += (
            f" Fitted without its largest size, the joint law misses the runs of that size by {fit.missed:.1%}; "
            "a run beyond the grid is foretold no more narrowly."
        )
    return told


def _rate(found: Scaled) -> str:
    told = "The rate that the smallest size does best with, over the most steps"
    falls = isinstance(found.plan.training.optimiser, AdamW)
    return f"{told}; " + (
        "that of wider ones is less by as much as they are wider." if falls else "all sizes share it."
    )


def _honest(found: Scaled) -> str:
    passes = max((plan_steps(key) for key in found.points), default=0) / max(found.epoch, 1)
    told = "Parameters are those without embeddings, whose own stand beside them. "
    told += "One seed a run: the residuals are the noise. "
    told += f"The longest runs pass over the data {passes:.1f} times"
    return told + ("; what is seen again teaches less, so the law of tokens is bent." if passes > MANY_PASSES else ".")


def plan_steps(key: str) -> int:
    """The steps that a run's name tells: 64x3@500-0."""
    return int(key.split("@")[1].split("-")[0])


def _picture(found: Scaled) -> Picture:
    lines: dict[str, list[tuple[float, float]]] = {}
    for key, point in found.points.items():
        lines.setdefault(key.split("@")[0], []).append((point.tokens, point.loss))
    law = found.fit.law
    with canvas(9, 3.8, columns=2) as drawing:
        left, right = drawing.axes
        plot_lines(left, lines, "tokens", "validation loss, nats", "xy")
        for point in {p.parameters: p for p in found.points.values()}.values():
            xs = sorted(p.tokens for p in found.points.values() if p.parameters == point.parameters)
            left.plot(xs, [law.loss(point.parameters, x) for x in xs], "--", color="#1b1b1f", linewidth=0.8)
        by_work = {"runs": [(p.flops, p.loss) for p in found.points.values()]}
        plot_lines(right, {}, "operations", "validation loss, nats", "xy")
        right.scatter(*zip(*by_work["runs"], strict=True), s=14, color="#33508f", label="runs")
        told = found.foretold["loss"]
        error = [[max(0.0, told["value"] - told["low"])], [max(0.0, told["high"] - told["value"])]]
        right.errorbar([found.work[2]], [told["value"]], yerr=error, fmt="_", color="#b3382c", label="foretold")
        if found.loss is not None:
            right.scatter([found.work[2]], [found.loss], s=30, color="#2a6f4e", marker="x", label="measured", zorder=3)
        right.legend(frameon=False, fontsize=8)
    return Picture("laws", drawing.svg, "Loss by tokens for each size (dashed: the joint law), and by work.")
