"""Numbers and cells as a reader wants them: few digits, thousands apart, a dash where nothing is."""

import math
from typing import Any

from regard.tables.encode.cells import as_label, is_missing
from regard.tables.plain_numbers import plain_number
from regard.tables.report.results import Interval

NONE = "–"
MAX_CELL = 60  # characters


def number_text(value: float, digits: int = 4) -> str:
    """So many significant digits, without an exponent if that is readable."""
    if not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size < 12:
        return f"{value:.{digits - 1}e}".replace("-", "−").replace("e+", "e").replace("e−0", "e−")
    places = max(0, digits - 1 - size)
    return f"{value:,.{places}f}".replace("-", "−")


def score_text(metric: str, value: float) -> str:
    """A score: fixed places where it lies between 0 and 1, significant digits where it has the unit of the target."""
    if metric in ("rmse", "mae") or not math.isfinite(value):
        return number_text(value)
    return fixed(value, 3)


def score_interval(metric: str, one: Interval) -> str:
    if not (math.isfinite(one.low) and math.isfinite(one.high)):
        return ""
    return f"{score_text(metric, one.low)} to {score_text(metric, one.high)}"


def percent(value: float, places: int = 0) -> str:
    return f"{100 * value:.{places}f}\N{NO-BREAK SPACE}%" if math.isfinite(value) else NONE


def decimals(largest: float, digits: int = 3) -> int:
    """Decimal places with which the largest of several numbers has so many significant digits."""
    if not (math.isfinite(largest) and largest > 0):
        return digits
    return min(12, max(0, digits - 1 - math.floor(math.log10(largest))))


def fixed(value: float, places: int) -> str:
    """A number with fixed places, as in a column of numbers; a zero has no sign."""
    if not math.isfinite(value):
        return NONE
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", "−")


def cell_text(cell: Any) -> str:
    """A cell of a table in one line."""
    if is_missing(cell):
        return NONE
    words = plain_number(cell, 7, separator="") if isinstance(cell, float) else " ".join(str(as_label(cell)).split())
    return words if len(words) <= MAX_CELL else words[: MAX_CELL - 1] + "…"
