"""What a forecast reports: the series that were read, notes on them, and the back-test."""

import json
import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from regard.tables.forecast.forecaster import Forecast
from regard.tables.forecast.scores import MethodScore
from regard.tables.rendering import grid

SHOWN = 5  # notes, or seasons
CLEAR = 2.0  # standard errors
logger = logging.getLogger("regard.tables")


def log_series(forecast: Forecast) -> None:
    """Log how the series were read, and what was noticed."""
    series = forecast.series
    lengths = [len(one.values) for one in series]
    count = f"{lengths[0]:,} values" if len(series) == 1 else f"{len(series):,} series of {_range(lengths)} values"
    logger.info("%s, %s; %s", count, series[0].frequency.name, _seasons([one.periods for one in series]))
    for note in forecast.notes[:SHOWN]:
        logger.warning("note: %s", note)
    if len(forecast.notes) > SHOWN:
        logger.warning("note: and %s more notes on other series", f"{len(forecast.notes) - SHOWN:,}")
    if not forecast.scores:
        logger.warning("note: no back-test: the series are too short to hold out a horizon")


def _range(lengths: list[int]) -> str:
    return f"{min(lengths):,} to {max(lengths):,}" if min(lengths) < max(lengths) else f"{lengths[0]:,}"


def _seasons(periods: Sequence[tuple[int, ...]]) -> str:
    """The season of all series, or which of the seasons how many of them have."""
    counts = Counter(periods).most_common()
    if len(counts) == 1:
        return _season(counts[0][0])
    shown = [f"{_season(each)} ({count:,} series)" for each, count in counts[:SHOWN]]
    return ", ".join(shown) + (", and others" if len(counts) > SHOWN else "")


def _season(periods: tuple[int, ...]) -> str:
    return "no season" if periods == (1,) else f"season of {' and '.join(map(str, periods))} steps"


def backtest_grid(forecast: Forecast) -> RenderableType:
    """Scores of each method on the held-out windows."""
    rows = [
        (
            one.method,
            _number(one.mase),
            _number(one.weighted_quantile_loss),
            f"{one.coverage_80:.0%}",
            f"{one.coverage_90:.0%}",
        )
        for one in forecast.scores
    ]
    windows = f"{forecast.windows:,} held-out window{'s' if forecast.windows > 1 else ''}"
    heads = ("method", "MASE", "quantile loss", "in 80% interval", "in 90% interval")
    note = "MASE, weighted quantile loss: lower is better; each window was forecast from what came before it"
    notes = [note, *filter(None, map(_compared, forecast.scores))]
    return Group(grid(f"Back-test on {windows} of {_steps(forecast)}", heads, rows), *notes)


def _compared(one: MethodScore) -> str:
    """Whether the forecast is ahead of this method by more than the noise between windows."""
    lead, error = one.mase_lead, one.mase_lead_error
    if math.isnan(error):
        return ""
    if abs(lead) <= CLEAR * error:
        return f"regard beside {one.method}: level, {abs(lead):.3f} of MASE is within the noise (± {CLEAR * error:.3f})"
    ahead = "ahead" if lead > 0 else "behind"
    return f"regard beside {one.method}: {ahead} by {abs(lead):.3f} of MASE (± {CLEAR * error:.3f} between windows)"


def _steps(forecast: Forecast) -> str:
    steps = len(forecast.table) // len(forecast.series)
    return f"{steps:,} steps" if steps > 1 else "1 step"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def as_json(forecast: Forecast, with_table: bool) -> str:
    """One JSON object; NaN is null and a date is text."""
    document: dict[str, Any] = {
        "series": len(forecast.series),
        "frequency": forecast.series[0].frequency.name,
        "windows": forecast.windows,
        "backtest": [asdict(one) for one in forecast.scores],
        "notes": forecast.notes,
    }
    if with_table:
        zoned = forecast.table.select_dtypes("datetimetz")  # which pandas would write in UTC
        table = forecast.table.assign(**{name: zoned[name].map(lambda time: time.isoformat()) for name in zoned})
        text = table.to_json(orient="records", date_format="iso", double_precision=15)
        document["forecast"] = json.loads(text)
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
