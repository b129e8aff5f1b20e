"""The plots of a report, each drawn from what was measured."""

import math
from collections.abc import Sequence
from html import escape

import pandas as pd

from regard.tables.cutting import cut, cut_apart
from regard.tables.report.formats import cell_text, number_text
from regard.tables.report.results import (
    Confusion,
    Coverage,
    Dependence,
    Detection,
    Interval,
    ModelScores,
    Reliability,
    Residuals,
)
from regard.tables.report.svg import (
    BOTTOM,
    CHARACTER,
    RIGHT,
    TOP,
    Axes,
    Scale,
    fitting_ticks,
    label_width,
    line,
    rectangle,
    svg,
    text,
    tick_below,
)

HALF, HEIGHT = 400, 300
FULL = 840
SMALL, SMALL_HEIGHT = 270, 200
MAX_NAME = 16  # characters of a category, unless two would be alike
DAY = 86_400


def padded(values: Sequence[float], share: float = 0.06) -> tuple[float, float]:
    """The range of some numbers with a margin."""
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    margin = share * (high - low) or max(abs(high) * share, 1e-9)
    return low - margin, high + margin


def forest(models: Sequence[ModelScores], metric: str, title: str) -> str:
    """The score of each model with its confidence interval, one line each."""
    shown = [one for one in models if metric in one.scores]
    scores = [one.scores[metric] for one in shown]
    ends = [value for one in scores for value in (one.low, one.high, one.value)]
    left, step = 24 + 1.15 * max(label_width(one.name) for one in shown), 30
    height = TOP + step * len(shown) + BOTTOM
    x = Scale(*padded(ends), left, FULL - 20)
    parts = []
    for value, label in fitting_ticks(x, 8):
        parts.append(line(x(value), TOP, x(value), height - BOTTOM, "grid"))
        parts.append(tick_below(x(value), height - BOTTOM + 16, label, FULL))
    for place, (one, score) in enumerate(zip(shown, scores, strict=True)):
        y, kind = TOP + step * (place + 0.5), "c1" if place == 0 else "c0"
        parts.append(text(left - 12, y + 4, one.name, "strong" if place == 0 else "label", "end"))
        if math.isfinite(score.low):
            parts.append(line(x(score.low), y, x(score.high), y, f"{kind} bold"))
        parts.append(f'<circle class="{kind} dot" cx="{x(score.value):.2f}" cy="{y:.2f}" r="5"/>')
    parts.append(text((left + FULL - 20) / 2, height - 6, title, "title", "middle"))
    return svg(FULL, height, "".join(parts), f"{title} of each model with its 95 % interval")


def reliability_plot(measured: Reliability) -> str:
    axes = Axes.of((0, 1), (0, 1), HALF, HEIGHT)
    marks = [axes.draw("predicted probability", "observed fraction"), axes.curve((0, 1), (0, 1), "reference")]
    marks += [axes.whisker(one.predicted, one.observed.low, one.observed.high, "c1") for one in measured.bins]
    xs, ys = [one.predicted for one in measured.bins], [one.observed.value for one in measured.bins]
    marks += [axes.curve(xs, ys, "c1"), axes.points(xs, ys, "c1 dot", 4)]
    return svg(HALF, HEIGHT, "".join(marks), "Observed fraction against predicted probability")


def coverage_plot(measured: Coverage) -> str:
    axes = Axes.of((0, 1), (0, 1), HALF, HEIGHT)
    marks = [
        axes.draw("predicted quantile", "fraction of rows below it"),
        axes.curve((0, 1), (0, 1), "reference"),
        axes.curve(measured.levels, measured.below, "c1"),
        axes.points(measured.levels, measured.below, "c1 dot", 3),
    ]
    return svg(HALF, HEIGHT, "".join(marks), "Fraction of held-out rows below each predicted quantile")


def residual_plot(measured: Residuals, target: str) -> str:
    axes = Axes.of(padded(measured.predicted), padded((*measured.residual, 0.0)), HALF, HEIGHT)
    zero = axes.curve((axes.x.low, axes.x.high), (0, 0), "reference")
    marks = axes.points(measured.predicted, measured.residual, "c1 faint", 3)
    drawn = axes.draw(f"predicted {cut(target, 40)}", "true − predicted") + zero + marks
    return svg(HALF, HEIGHT, drawn, "Residuals against predictions")


def truth_plot(measured: Residuals, target: str) -> str:
    truth = [one + other for one, other in zip(measured.predicted, measured.residual, strict=True)]
    ends = padded((*truth, *measured.predicted))
    axes = Axes.of(ends, ends, HALF, HEIGHT)
    name = cut(target, 36)
    marks = axes.curve(ends, ends, "reference") + axes.points(measured.predicted, truth, "c1 faint", 3)
    return svg(HALF, HEIGHT, axes.draw(f"predicted {name}", f"true {name}") + marks, "True values against predictions")


def confusion_plot(measured: Confusion) -> str:
    """A heat map: each row of true classes is shaded by the fraction predicted as each class."""
    count, labels = len(measured.labels), cut_apart(measured.labels, 18)
    longest = max(map(len, labels))
    size = max(32, min(64, 380 // count))
    turns = longest * CHARACTER > size  # names that are wider than a cell are written aslant
    left, top = 40 + CHARACTER * longest, 44 + (0.64 * CHARACTER * longest if turns else 0)
    middle = top + count * size / 2
    parts = [text(left + count * size / 2, 12, "predicted", "title", "middle")]
    parts.append(text(12, middle, "true", "title", "middle", f' transform="rotate(-90 12 {middle:.1f})"'))
    for place, label in enumerate(labels):
        middle = left + (place + 0.5) * size
        turned = f' transform="rotate(-40 {middle:.1f} {top - 8:.1f})"' if turns else ""
        parts.append(text(middle, top - 8, label, "tick", "start" if turned else "middle", turned))
        parts.append(text(left - 8, top + (place + 0.5) * size + 4, label, "tick", "end"))
        total = sum(measured.counts[place]) or 1
        for other, rows in enumerate(measured.counts[place]):
            share, x, y = rows / total, left + other * size, top + place * size
            kind = "c1 cell" if place == other else "c2 cell"
            parts.append(rectangle(x + 1, y + 1, size - 2, size - 2, "cell empty"))
            parts.append(rectangle(x + 1, y + 1, size - 2, size - 2, kind, 0.9 * share))
            shade = "on" if share > 0.55 else ("label" if rows else "tick")
            parts.append(text(x + size / 2, y + size / 2 + 4, f"{rows:,}", shade, "middle"))
    width, height = left + count * size + (0.77 * CHARACTER * longest if turns else 0), top + count * size + 8
    return svg(width, height, "".join(parts), "Confusion matrix: true classes by predicted classes")


def detection_plot(measured: Detection) -> str:
    axes = Axes.of((0, 1), (0, 1), HALF, HEIGHT)
    marks = [
        axes.draw("recall", "precision"),
        axes.curve((0, 1), (measured.frequency, measured.frequency), "reference"),
        axes.curve(measured.recall, measured.precision, "c1"),
    ]
    for name, kind in (("0.5", "c0"), ("proposed", "c2")):
        scores = measured.scores[name]
        at = measured.threshold if name == "proposed" else 0.5
        x, y = scores["recall"], scores["precision"]
        marks.append(axes.points([x], [y], f"{kind} dot", 5))
        side = ("end", -9) if x > 0.6 else ("start", 9)
        marks.append(text(axes.x(x) + side[1], axes.y(y) + 4, f"from {number_text(at, 2)}", "strong halo", side[0]))
    return svg(HALF, HEIGHT, "".join(marks), "Precision against recall")


def bar(one: Interval, largest: float, width: float = 150) -> str:
    """A bar with its interval, from zero."""
    x = Scale(0.0, largest or 1.0, 1, width - 1)
    clip = [min(width - 1, max(1.0, x(value))) for value in (one.low, one.high)]
    drawn = rectangle(1, 3, x(max(one.value, 0.0)) - 1, 10, "c1 area") + line(clip[0], 8, clip[1], 8, "ink")
    return svg(width, 16, drawn, f"{one.value:.3g}")


def dependence_plot(measured: Dependence, y: tuple[float, float], title: str, probability: bool) -> str:
    """Curves of a number or a date, bars of a category; `y` is common to all columns."""
    if measured.kind == "category":
        return _dependence_bars(measured, y, title, probability)
    is_date = measured.kind == "date"
    xs = [pd.Timestamp(cell).timestamp() / DAY if is_date else float(cell) for cell in measured.cells]
    axes = Axes.of(padded(xs, 0.03), y, SMALL, SMALL_HEIGHT)
    ticks = [(x, str(pd.Timestamp(x * DAY, unit="s").date())) for x in (xs[0], xs[-1])] if is_date else None
    marks = [axes.draw("", title, ticks or fitting_ticks(axes.x, 4)), axes.rug(measured.rug)]
    for place, (_, curve) in enumerate(measured.curves):
        marks.append(axes.curve(xs, curve, f"c{place + 1} bold"))
    return svg(SMALL, SMALL_HEIGHT - 16, "".join(marks), f"Average prediction by {measured.name}")


def _dependence_bars(measured: Dependence, y: tuple[float, float], title: str, probability: bool) -> str:
    """Horizontal bars, so that names of categories have room; several classes side by side."""
    step = 22
    names = cut_apart([cell_text(cell) for cell in measured.cells], MAX_NAME)
    left = 12 + max(label_width(name) for name in names)
    curves = len(measured.curves)
    thick = max(4, (step - 6) / curves)
    height = 8 + len(measured.cells) * (thick * curves + 8) + 36
    x = Scale(0.0 if probability else y[0], y[1], left, SMALL - RIGHT)
    # Bars of a number start at its mean: at zero they would be long and alike.
    rows = sum(measured.counts) or 1
    mean = sum(n * value for n, value in zip(measured.counts, measured.curves[0][1], strict=True)) / rows
    zero = x(0.0) if probability else x(mean)
    parts = []
    for value, label in fitting_ticks(x, 4):
        parts.append(line(x(value), 4, x(value), height - 36, "grid"))
        parts.append(tick_below(x(value), height - 22, label, SMALL))
    for place, name in enumerate(names):
        top = 8 + place * (thick * curves + 8)
        parts.append(text(left - 6, top + thick * curves / 2 + 4, name, "tick", "end"))
        for number, (_, values) in enumerate(measured.curves):
            ends = sorted((zero, x(values[place])))
            parts.append(rectangle(ends[0], top + number * thick, ends[1] - ends[0], thick - 1, f"c{number + 1} area"))
    parts.append(line(zero, 4, zero, height - 36, "axis"))
    parts.append(text((left + SMALL - RIGHT) / 2, height - 6, title, "title", "middle"))
    return svg(SMALL, height, "".join(parts), f"Average prediction by {measured.name}")


def legend(names: Sequence[str]) -> str:
    """The colours of several curves."""
    keys = (f'<span><i class="c{place + 1}"></i>{escape(name)}</span>' for place, name in enumerate(names))
    return f'<p class="legend">{"".join(keys)}</p>'
