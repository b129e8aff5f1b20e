"""Forecaster: future values of the series of a table, with quantiles and a back-test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import ConfigError, at_least
from regard.tables.encode.frames import as_frame
from regard.tables.forecast.engine import Window, forecast_series
from regard.tables.forecast.network import LEVELS
from regard.tables.forecast.scores import MethodScore, score_windows
from regard.tables.forecast.series import Duplicates, Series, read_series
from regard.tables.predictor import check_levels

MAX_HORIZON = 1000


@dataclass(frozen=True)
class Forecast:
    """Forecasts of all series."""

    table: pd.DataFrame  # names of the series, time, median, quantiles
    scores: list[MethodScore]  # of the back-test; empty if the series are too short for one
    windows: int  # that it held out
    windows_ahead: list[Window]  # what the table is made of: more quantiles
    notes: list[str]  # what was noticed about the data

    @property
    def series(self) -> list[Series]:
        return [one.of.series for one in self.windows_ahead]


@dataclass(frozen=True, kw_only=True)
class Forecaster:
    """How the series of a table are read and forecast; nothing is trained."""

    time: str  # column of dates or numbers
    value: str  # column to forecast
    horizon: int  # steps ahead
    by: Sequence[str] = ()  # columns that tell series apart
    quantiles: Sequence[float] = (0.05, 0.5, 0.95)
    season: int | None = None  # steps of a season; by default those of the frequency, 1 for none
    holidays: str | None = None  # country or part of it (DE, DE-BY) whose public holidays change the values
    duplicates: Duplicates = "error"  # what rows of the same time are: an error, or to be added or averaged
    weights: str | None = None  # run folder of `regard pretrain tables` to use instead of the shipped weights

    def __post_init__(self) -> None:
        at_least(1, horizon=self.horizon, season=self.season)
        if self.horizon > MAX_HORIZON:
            raise ConfigError(f"horizon: at most {MAX_HORIZON:,} steps, not {self.horizon:,}")
        if len({self.time, self.value, *self.by}) < 2 + len(self.by):
            names = ", ".join(map(repr, (self.time, self.value, *self.by)))
            raise ConfigError(f"time, value and by: must be different columns, not {names}")
        check_levels(self.quantiles)

    def forecast(self, frame: Any) -> Forecast:
        """The next values of every series in a table, whose rows may be in any order."""
        columns = (self.time, self.value, list(self.by))
        series, notes = read_series(as_frame(frame), columns, self.season, self.duplicates)
        if self.holidays is not None:
            series = [one.with_holidays(self.holidays, self.horizon) for one in series]
            notes += _holiday_notes(series, self.holidays)
        forecasts = forecast_series(series, self.horizon, self.weights)
        table = pd.concat([self._rows(window) for window in forecasts.ahead], ignore_index=True)
        held_out = forecasts.held_out
        return Forecast(table, score_windows(held_out), len(held_out), forecasts.ahead, notes)

    def _rows(self, window: Window) -> pd.DataFrame:
        series = window.of.series
        columns: dict[str, Any] = {name: [cell] * self.horizon for name, cell in zip(self.by, series.key, strict=True)}
        columns[self.time] = series.clock.written(series.times(len(series.values), self.horizon))
        columns[self.value] = _rounded(window.median)
        for level in self.quantiles:
            columns[f"{self.value}_q{100 * level:g}"] = _rounded(quantile(window, level))
        return pd.DataFrame(columns)


def _holiday_notes(series: Sequence[Series], country: str) -> list[str]:
    effects = [one.holidays for one in series if one.holidays is not None]
    if any(np.isfinite(each.changes).any() for each in effects):
        return []
    return [f"no holiday of {country} lies in the past (after its first week): the forecast is as without --holidays"]


def quantile(window: Window, level: float) -> Float[np.ndarray, " step"]:
    """Any quantile, on straight lines between those that are computed; beyond them, the outermost."""
    return np.array([np.interp(level, LEVELS, row) for row in window.quantiles])


def _rounded(values: Float[np.ndarray, " step"]) -> list[float]:
    """With seven digits, the precision of float32."""
    return [float(f"{value:.7g}") for value in values]
