"""Numbers for people: four significant digits, thousands separators, scientific notation at the extremes; axis ticks.

page/numbers.js does the same in the browser.
"""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import pairwise

SMALL, LARGE = 1e-3, 1e6  # beyond them scientific notation is shorter
STEPS = (1, 2, 5, 10)
LOG_TICKS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # within a decade, densest first


def format_number(value: float, digits: int = 4) -> str:
    """12,346 · 0.3457 · 2.8e-6: whole from a thousand on, and never a long row of zeros."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value)
    if value == 0 or (float(value).is_integer() and size < LARGE):
        return f"{value:,.0f}".replace("-0", "0") if value == 0 else f"{value:,.0f}"
    if size < SMALL or size >= LARGE:
        mantissa, exponent = f"{_round(value, min(digits, 3)):E}".split("E")
        return f"{_strip(mantissa)}e{int(exponent)}"
    rounded = _round(value, max(digits, math.floor(math.log10(size)) + 1))
    return _strip(f"{rounded:,f}")


def format_percent(share: float) -> str:
    return f"{format_number(100 * share, 3)} %"


def linear_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most `most` multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / max(1, most - 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in STEPS if factor * size >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def log_ticks(low: float, high: float, room: float, gap: float = 18) -> list[float]:
    """Ticks of a logarithmic axis of `room` pixels whose labels stay `gap` pixels apart, as many as fit."""

    def place(value: float) -> float:
        return room * math.log(value / low) / math.log(high / low)

    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in LOG_TICKS:
        ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        ticks = [float(f"{tick:.12g}") for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if _apart(ticks, place, gap):
            break
    else:
        every = math.ceil(gap * (last - first) / room)
        ticks = [10.0**power for power in range(first, last + 1) if power % every == 0 and low <= 10.0**power <= high]
    if len(ticks) >= 3:
        return ticks
    even = (linear_ticks(low, high, most) for most in range(6, 1, -1))  # less than a decade: even steps read better
    return next(
        (candidate for candidate in even if len(candidate) > len(ticks) and _apart(candidate, place, gap)), ticks
    )


def _apart(ticks: Sequence[float], place: Callable[[float], float], gap: float) -> bool:
    places = [place(tick) for tick in ticks]
    return all(after - before >= gap for before, after in pairwise(places))


def _round(value: float, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(float(value)))


def _strip(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
