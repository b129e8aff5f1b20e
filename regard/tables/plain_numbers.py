"""Numbers for people to read: no scientific notation where a plain number is as short."""

import math

SMALL, LARGE = 1e-6, 1e15  # beyond them scientific notation is shorter


def number_range(low: float, high: float) -> str:
    """As a file has numbers, without thousands separators: years have none."""
    return f"{plain_number(low, 6, separator='')} to {plain_number(high, 6, separator='')}"


def percent_text(probability: float, places: int = 0) -> str:
    """A probability in percent; with a decimal near 0 and 1, which it is never said to be."""
    text = f"{probability:.{places}%}"
    if float(text[:-1]) not in (0, 100):
        return text
    text = f"{probability:.1%}"
    return {"100.0%": ">99.9%", "0.0%": "<0.1%"}.get(text, text)


def plain_number(value: float, digits: int = 4, separator: str = ",") -> str:
    """So many significant digits, with thousands separators: -38,060 instead of -3.806e+04."""
    if value == 0:
        return "0"
    if not SMALL <= abs(value) < LARGE:  # infinite ones and NaN too
        return f"{value:.{digits}g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, places):,.{max(0, places)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace(",", separator)
