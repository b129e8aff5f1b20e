"""A little SVG: scales, axes and marks.

Colours are classes of the page's style sheet, so that they suit light and dark. Sizes are
those of the page's pixels, so that texts are as large as those around the plot.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

RIGHT, TOP, BOTTOM = 12, 10, 42  # margins for the labels of axes; the left one is as wide as they are
TITLE = 20  # for a title that stands upright
CHARACTER = 6.2  # mean width of one in a label
GAP = 8  # least distance of two labels


@dataclass(frozen=True)
class Scale:
    """From numbers to pixels, on a straight line."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)


@dataclass(frozen=True)
class Axes:
    """A plot's area with its two scales."""

    x: Scale
    y: Scale
    width: float
    height: float

    @classmethod
    def of(cls, x: tuple[float, float], y: tuple[float, float], width: float, height: float) -> "Axes":
        left = TITLE + GAP + max(label_width(label) for _, label in labelled_ticks(*y))
        return cls(Scale(*x, left, width - RIGHT), Scale(*y, height - BOTTOM, TOP), width, height)

    def draw(self, x_title: str, y_title: str, x_ticks: Iterable[tuple[float, str]] | None = None) -> str:
        """Grid lines, labels of ticks, and titles; `x_ticks` are by default as many round numbers as have room."""
        parts = []
        for value, label in labelled_ticks(self.y.low, self.y.high):
            parts.append(line(self.x.start, self.y(value), self.x.end, self.y(value), "grid"))
            parts.append(text(self.x.start - 6, self.y(value) + 4, label, "tick", "end"))
        for value, label in fitting_ticks(self.x) if x_ticks is None else x_ticks:
            parts.append(line(self.x(value), self.y.start, self.x(value), self.y.start + 4, "axis"))
            parts.append(tick_below(self.x(value), self.y.start + 16, label, self.width))
        parts.append(line(self.x.start, self.y.start, self.x.end, self.y.start, "axis"))
        parts.append(text((self.x.start + self.x.end) / 2, self.height - 6, x_title, "title", "middle"))
        middle = (self.y.start + self.y.end) / 2
        turned = f' transform="rotate(-90 12 {number(middle)})"'
        parts.append(text(12, middle, y_title, "title", "middle", turned))
        return "".join(parts)

    def curve(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> str:
        places = " ".join(f"{number(self.x(x))},{number(self.y(y))}" for x, y in zip(xs, ys, strict=True))
        return f'<polyline class="{kind}" points="{places}"/>'

    def points(self, xs: Sequence[float], ys: Sequence[float], kind: str, radius: float = 3) -> str:
        return "".join(
            f'<circle class="{kind}" cx="{number(self.x(x))}" cy="{number(self.y(y))}" r="{number(radius)}"/>'
            for x, y in zip(xs, ys, strict=True)
        )

    def rug(self, xs: Sequence[float]) -> str:
        """A short line at the axis for each number."""
        inside = [x for x in xs if self.x.low <= x <= self.x.high]
        return "".join(line(self.x(x), self.y.start, self.x(x), self.y.start - 6, "rug") for x in inside)

    def whisker(self, x: float, low: float, high: float, kind: str) -> str:
        """An interval above one place."""
        return line(self.x(x), self.y(low), self.x(x), self.y(high), kind)


def svg(width: float, height: float, body: str, label: str) -> str:
    """A picture with a description for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {number(width)} {number(height)}" role="img" aria-label="{escape(label)}" '
        f'style="max-width:{number(width)}px">{body}</svg>'
    )


def text(x: float, y: float, content: str, kind: str, anchor: str = "start", attributes: str = "") -> str:
    place = f'x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}{attributes}>{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"/>'


def rectangle(x: float, y: float, width: float, height: float, kind: str, opacity: float = 1.0) -> str:
    faint = "" if opacity == 1 else f' fill-opacity="{number(opacity)}"'
    size = f'width="{number(max(0.0, width))}" height="{number(max(0.0, height))}"'
    return f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" {size}{faint}/>'


def number(value: float) -> str:
    """A coordinate in few characters."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


def round_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About so many round numbers between the two."""
    width = high - low
    if not (math.isfinite(width) and width > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(width / count))
    step = next(factor * power for factor in (1, 2, 5, 10) if width / (factor * power) <= count)
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def labelled_ticks(low: float, high: float, count: int = 5) -> list[tuple[float, str]]:
    """Round numbers with as many digits as tell them apart."""
    ticks = round_ticks(low, high, count)
    label = tick_format(ticks)
    return [(value, label(value)) for value in ticks]


def fitting_ticks(scale: Scale, count: int = 5) -> list[tuple[float, str]]:
    """As many round numbers as have room beside each other on a horizontal axis, at most so many."""
    most = labelled_ticks(scale.low, scale.high, count)
    choices = [labelled_ticks(scale.low, scale.high, fewer) for fewer in range(count, 1, -1)]
    for ticks in (*choices, most[::2], most[::3]):
        widest = max(label_width(label) for _, label in ticks)
        if len(ticks) > 1 and all(scale(b) - scale(a) >= widest + GAP for (a, _), (b, _) in pairwise(ticks)):
            return ticks
    return most[:1]


def label_width(label: str) -> float:
    """In pixels, about."""
    return CHARACTER * len(label)


def tick_below(x: float, y: float, label: str, width: float) -> str:
    """The label of a tick of a horizontal axis, moved so far that it stays within the plot."""
    half = label_width(label) / 2
    return text(max(half, min(width - half, x)), y, label, "tick", "middle")


def tick_format(ticks: Sequence[float]) -> Callable[[float], str]:
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    largest = max(map(abs, ticks))
    if largest >= 1e7 or 0 < largest < 1e-3:
        return lambda value: f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("-", "−")
    places = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    grouped = largest >= 10_000
    separator = "," if grouped else ""
    return lambda value: f"{value + 0.0:{separator}.{places}f}".replace("-", "−")
