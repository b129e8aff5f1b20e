"""Numbers for people: the same in files and in the browser, without rows of zeros; ticks that leave room for labels."""

import math
import random
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from regard.view.numbers import format_number, format_percent, linear_ticks, log_ticks
from regard.view.page import page_files
from tests.view.browser import Watched, served
from tests.view.conftest import Runs

WRITTEN = {
    0: "0", 1: "1", 12345: "12,345", -12345.678: "-12,346", 999999: "999,999", 1000000: "1e6",
    1234567.8: "1.23e6", 0.0000028152: "2.82e-6", 2.8e-6: "2.8e-6", 0.00012: "1.2e-4", 0.001: "0.001",
    0.34567: "0.3457", 0.1: "0.1", 1.5: "1.5", 99.996: "100", 123.456: "123.5", 1234.5: "1,235", 12.125: "12.13",
    float("nan"): "NaN", float("inf"): "∞", float("-inf"): "−∞",
}  # fmt: skip
RANGES = [(1.05, 1.3), (1, 4.4), (0.001, 1000), (1e-9, 1e9), (2, 2.0001), (3, 90), (0.9, 1.1), (5, 5000), (1e-30, 1e30)]


@pytest.mark.parametrize(("value", "text"), WRITTEN.items())
def test_numbers_are_short(value: float, text: str) -> None:
    assert format_number(value) == text


def test_percentages_and_minus_zero() -> None:
    assert format_number(-0.0) == "0"
    assert [format_percent(share) for share in (0.5, 0.005, 1, 0.68213, 1e-7)] == [
        "50 %", "0.5 %", "100 %", "68.2 %", "1e-5 %",
    ]  # fmt: skip


@given(some.floats(-1e300, 1e300))
def test_a_written_number_is_the_number(value: float) -> None:
    text = format_number(value)
    assert len(text) <= 12
    assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-3, abs=0)


@given(low=some.floats(1e-12, 1e12), factor=some.floats(1.001, 1e20), room=some.integers(100, 600))
def test_labels_on_a_log_axis_never_touch(low: float, factor: float, room: int) -> None:
    high = low * factor
    ticks = log_ticks(low, high, room)
    places = [room * math.log(tick / low) / math.log(high / low) for tick in ticks]
    assert all(after - before >= 18 for before, after in pairwise(places))
    assert all(-1e-3 <= place <= room + 1e-3 for place in places)


@given(low=some.floats(-1e9, 1e9), width=some.floats(1e-3, 1e9), most=some.integers(2, 9))
def test_linear_ticks_are_few_and_within(low: float, width: float, most: int) -> None:
    ticks = linear_ticks(low, low + width, most)
    assert len(ticks) <= most
    assert all(low - 1e-6 * width - 1e-3 <= tick <= low + width * (1 + 1e-6) + 1e-3 for tick in ticks)


def in_page(page: Any, function: str, arguments: list[Any]) -> Any:
    call = """([name, all]) => import('/page/numbers.js').then((module) => all.map((one) => module[name](...one)))"""
    return page.evaluate(call, [function, arguments])


def test_the_browser_writes_the_same(runs: Runs, watched: Watched) -> None:
    rng = random.Random(0)
    values = [value for value in WRITTEN if math.isfinite(value)]
    values += [rng.choice((-1, 1)) * 10 ** rng.uniform(-12, 12) for _ in range(300)]
    values += [rng.randrange(10**7) for _ in range(50)] + [rng.randrange(10**6) / 8 for _ in range(50)]
    with served(runs["gpt"]) as (address, _):
        page = watched.open(address, wait="textarea")
        assert in_page(page, "formatNumber", [[value] for value in values]) == [format_number(one) for one in values]
        assert in_page(page, "formatNumber", [[value, 3] for value in values]) == [
            format_number(one, 3) for one in values
        ]
        shares = [[rng.random()] for _ in range(50)]
        assert in_page(page, "formatPercent", shares) == [format_percent(share) for [share] in shares]
        for function, own in (("linearTicks", linear_ticks), ("logTicks", log_ticks)):
            arguments = [(low, high, 240) if function == "logTicks" else (low, high) for low, high in RANGES]
            texts = in_page(page, function, [list(one) for one in arguments])
            for one, ticks in zip(arguments, texts, strict=True):
                assert ticks == pytest.approx(own(*one), rel=1e-9), one


def test_the_page_formats_numbers_in_one_place() -> None:
    for name, data in page_files().items():
        if name.endswith(".js") and name != "numbers.js":
            assert not re.search(rb"toFixed|toPrecision|toExponential", data), name
