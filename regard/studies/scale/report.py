"""The report of a scaling study: laws with intervals, the best size for a budget, a prediction and its check."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.core.config import to_yaml
from regard.studies.runner.learning_rate import LearningRate, learning_rate_blocks
from regard.studies.runner.plots import canvas, plot_lines
from regard.studies.runner.report import Block, CodeBlock, Figure, Heading, Paragraph, Table, command, write_report
from regard.studies.scale.best_size import MAX_EPOCHS, BestSize, rounded
from regard.studies.scale.laws import CONFIDENCE, Interval, JointFit, Point, PowerLaw, fit_power
from regard.tasks.plan import Plan
from regard.train import AdamW


@dataclass(frozen=True)
class ScalingResults:
    data: Sequence[str]
    points: Mapping[str, Point]  # of the grid, by run
    fit: JointFit
    prediction: Mapping[str, Any]
    large: Point  # the predicted run; its loss is NaN if it diverged
    best: Sequence[BestSize]
    plan: Plan  # of one run
    epoch: int  # steps per pass over the data
    lr: LearningRate  # of the smallest size

    @property
    def predicted(self) -> Interval:
        return Interval(**self.prediction["loss"])


def report_scaling(folder: Path, results: ScalingResults) -> None:
    blocks: list[Block] = [command(), Paragraph(_verdict(results)), _figure(results)]
    blocks += [Heading("Laws"), Paragraph(_joint_law(results.fit)), _law_table(_power_laws(results))]
    blocks += [Heading("Best size for a budget"), _best_sizes(results.best)]
    blocks += [Paragraph(f"{_repeated_text(results.best)}{_intervals(results.fit)}")]
    blocks += [Heading("Runs"), _runs(results), Paragraph(_caveats(results))]
    blocks += learning_rate_blocks(results.lr, _learning_rate(results))
    blocks += [Heading("Settings of a run"), CodeBlock(to_yaml(results.plan))]
    write_report(folder, f"Scaling laws: {', '.join(Path(f).name for f in results.data)}", blocks)


def frontier(points: Sequence[Point]) -> list[Point]:
    """Runs that no run with as little compute beats."""
    return [p for p in points if not any(o.flops <= p.flops and o.loss < p.loss for o in points)]


def _power_laws(results: ScalingResults) -> dict[str, tuple[PowerLaw, Interval] | None]:
    points = list(results.points.values())
    max_tokens, max_parameters = max(p.tokens for p in points), max(p.parameters for p in points)
    series = {
        "parameters N, at the most tokens": [(p.parameters, p.loss) for p in points if p.tokens == max_tokens],
        "tokens D, at the most parameters": [(p.tokens, p.loss) for p in points if p.parameters == max_parameters],
        "compute C, of the best runs": [(p.flops, p.loss) for p in frontier(points)],
    }
    return {
        name: fit_power([x for x, _ in pairs], [y for _, y in pairs]) if len({x for x, _ in pairs}) > 2 else None
        for name, pairs in series.items()
    }


def _law_table(laws: Mapping[str, tuple[PowerLaw, Interval] | None]) -> Table:
    rows = []
    for name, fit in laws.items():
        if fit is None:
            rows.append([name, "too few runs", "–"])
        else:
            law, exponent = fit
            rows.append([name, f"L = {law.scale:.3g} · x^−{law.exponent:.4f}", str(exponent)])
    return Table(["loss by", "law", "exponent"], rows)


def _joint_law(fit: JointFit) -> str:
    law = fit.law
    names = (("E", "floor"), ("a", "alpha"), ("b", "beta"))
    intervals = ", ".join(f"{symbol} = {fit.interval_of(name)}" for symbol, name in names)
    return (
        f"**L(N, D) = {law.floor:.3g} + {law.a:.3g}/N^{law.alpha:.3g} + {law.b:.3g}/D^{law.beta:.3g}**, "
        f"N without embeddings. {intervals}."
    )


def _best_sizes(sizes: Sequence[BestSize]) -> Table:
    rows = [
        [f"{one.flops:.3g}", rounded(one.parameters), rounded(one.tokens), f"{one.epochs:,.0f}", f"{one.loss:.4f}"]
        for one in sizes
    ]
    return Table(["FLOPs", "parameters", "tokens", "epochs over this text", "loss"], rows)


def _repeated_text(sizes: Sequence[BestSize]) -> str:
    if not any(one.epochs > MAX_EPOCHS for one in sizes):
        return ""
    return (
        f"A row with more than {MAX_EPOCHS} epochs holds for that much new text of the same kind: repeated tokens are "
        "worth less than new ones. "
    )


def _verdict(results: ScalingResults) -> str:
    predicted, loss = results.predicted, results.large.loss
    factor = results.large.flops / max(p.flops for p in results.points.values())
    text = (
        f"Before `{results.prediction['run']}` was made ({factor:.1f} times the compute of the largest run on the "
        f"grid), its loss was predicted as **{predicted.value:.4f}**, between {predicted.low:.4f} and "
        f"{predicted.high:.4f}."
    )
    if math.isnan(loss):
        return f"{text} It diverged."
    inside = "inside" if predicted.contains(loss) else "outside"
    return f"{text} It reached **{loss:.4f}**, {inside} that interval ({loss / predicted.value - 1:+.1%})."


def _runs(results: ScalingResults) -> Table:
    points = dict(results.points)
    if not math.isnan(results.large.loss):
        points[f"{results.prediction['run']} (predicted)"] = results.large
    header = ["run", "parameters", "in embeddings", "tokens", "FLOPs", "loss", "joint law"]
    return Table(header, [_row(key, point, results.fit) for key, point in points.items()])


def _row(key: str, run: Point, fit: JointFit) -> list[str]:
    counts = [f"{count:,.0f}" for count in (run.parameters, run.embedding, run.tokens)]
    return [key, *counts, f"{run.flops:.2e}", f"{run.loss:.4f}", f"{fit.law.loss(run.parameters, run.tokens):.4f}"]


def _intervals(fit: JointFit) -> str:
    text = f"Intervals are {CONFIDENCE:.0%} bootstraps: over runs for the joint law, over residuals for power laws."
    if fit.extrapolation_error:
        text += (
            f" Fitted without the largest size, the joint law misses its runs by {fit.extrapolation_error:.1%}; "
            "prediction intervals are at least as wide as this error."
        )
    return text


def _learning_rate(results: ScalingResults) -> str:
    falls = isinstance(results.plan.training.optimiser, AdamW)
    others = "wider models use less, in inverse proportion to their width." if falls else "all sizes use it."
    return f"The best learning rate of the smallest size over the most steps; {others}"


def _caveats(results: ScalingResults) -> str:
    epochs = max((run_steps(key) for key in results.points), default=0) / max(results.epoch, 1)
    text = "Laws are about parameters without embeddings, which are counted separately. "
    text += f"One seed per run: the residuals are the noise. The longest runs take {epochs:.1f} epochs"
    return text + ("; repeated tokens are worth less, which bends the law of tokens." if epochs > MAX_EPOCHS else ".")


def run_steps(key: str) -> int:
    """The number of steps in the name of a run: 64x3@500-0."""
    return int(key.split("@")[1].split("-")[0])


def _figure(results: ScalingResults) -> Figure:
    lines: dict[str, list[tuple[float, float]]] = {}
    for key, point in results.points.items():
        lines.setdefault(key.split("@")[0], []).append((point.tokens, point.loss))
    with canvas(9, 3.8, columns=2) as drawing:
        left, right = drawing.axes
        plot_lines(left, lines, "tokens", "validation loss, nats", "xy")
        _draw_law(left, results)
        plot_lines(right, {}, "FLOPs", "validation loss, nats", "xy")
        _draw_prediction(right, results)
    return Figure("laws", drawing.svg, "Loss by tokens for each size (dashed: the joint law), and by compute.")


def _draw_law(axes: Any, results: ScalingResults) -> None:
    points = results.points.values()
    for size in {p.parameters: None for p in points}:
        xs = sorted(p.tokens for p in points if p.parameters == size)
        axes.plot(xs, [results.fit.law.loss(size, x) for x in xs], "--", color="#1b1b1f", linewidth=0.8)


def _draw_prediction(axes: Any, results: ScalingResults) -> None:
    runs = [(p.flops, p.loss) for p in results.points.values()]
    axes.scatter(*zip(*runs, strict=True), s=14, color="#33508f", label="runs")
    predicted, large = results.predicted, results.large
    error = [[max(0.0, predicted.value - predicted.low)], [max(0.0, predicted.high - predicted.value)]]
    axes.errorbar([large.flops], [predicted.value], yerr=error, fmt="_", color="#b3382c", label="predicted")
    if not math.isnan(large.loss):
        axes.scatter([large.flops], [large.loss], s=30, color="#2a6f4e", marker="x", label="measured", zorder=3)
    axes.legend(frameon=False, fontsize=8)
