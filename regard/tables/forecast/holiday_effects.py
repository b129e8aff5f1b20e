"""Holidays: what a series did on past ones changes its forecast of the next.

The methods see an ordinary value in place of a holiday's (that of the same weekday before), so that a closed shop does
not lower the level and is not repeated a week later. The forecast of a holiday is then changed as past holidays
changed their values: those of the same name first, all others where it is new. From each origin only holidays before
it count, so a back-test is as honest as without them.
"""

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri  # norm.ppf, without a second of scipy.stats

from regard.core.errors import ConfigError, did_you_mean
from regard.core.extras import require
from regard.tables.forecast.frequency import DAY, Frequency
from regard.tables.forecast.network import LEVELS, MEDIAN

PRIOR = 1.0  # holidays: an effect is shrunk to that of all holidays, and that one to none, as by so many


@dataclass(frozen=True)
class HolidayEffects:
    """The holidays of one series. Numbers that are never negative are multiplied on a holiday, others shifted."""

    values: Float[np.ndarray, " time"]
    names: tuple[str, ...]  # of the holiday at each time, empty on other days; longer than the values by a horizon
    week: int  # steps

    @cached_property
    def ordinary(self) -> Float[np.ndarray, " time"]:
        """The values, on holidays those of the same weekday before; never one that came later."""
        values = self.values.copy()
        for place in range(self.week, len(values)):
            if self.names[place]:
                values[place] = values[place - self.week]
        return values

    @cached_property
    def multiplies(self) -> bool:
        return bool(np.nanmin(self.values) >= 0)

    @cached_property
    def changes(self) -> Float[np.ndarray, " time"]:
        """The factor, or the shift, of each past holiday; NaN on other days and where it is unknown."""
        holiday = np.array([bool(name) for name in self.names[: len(self.values)]])
        holiday[: self.week] = False
        with np.errstate(divide="ignore", invalid="ignore"):
            changes = self.values / self.ordinary if self.multiplies else self.values - self.ordinary
        return np.where(holiday & np.isfinite(changes), changes, np.nan)

    def apply(self, quantiles: Float[np.ndarray, "step level"], origin: int) -> Float[np.ndarray, "step level"]:
        """Quantiles of the steps after an origin, with the expected changes of their holidays and their spread."""
        result = quantiles.copy()
        for step, name in enumerate(self.names[origin + 1 : origin + 1 + len(quantiles)]):
            if name:
                result[step] = self._change(quantiles[step], *self._expected(name, origin))
        return result

    def _expected(self, name: str, origin: int) -> tuple[float, float]:
        """The mean change on holidays up to the origin, shrunk to that of all of them, and its standard deviation."""
        neutral = 1.0 if self.multiplies else 0.0
        known = np.flatnonzero(np.isfinite(self.changes[: origin + 1]))
        same = np.array([place for place in known if self.names[place] == name], dtype=int)
        overall = self._mean(known, neutral)
        mean = self._mean(same, overall)
        some = same if len(same) > 1 else known
        if not len(some):
            return mean, 0.0
        squares = np.square(self.changes[some] - mean)
        return mean, float(np.sqrt(np.average(squares, weights=self._weights[some])))

    def _mean(self, places: np.ndarray, prior: float) -> float:
        """Of some changes and of a prior one."""
        weights = self._weights[places]
        strength = PRIOR * (weights.mean() if len(weights) else 1.0)
        return float((weights @ self.changes[places] + strength * prior) / (weights.sum() + strength))

    @cached_property
    def _weights(self) -> Float[np.ndarray, " time"]:
        """A factor of a small value says little."""
        return self.ordinary if self.multiplies else np.ones_like(self.ordinary)

    def _change(self, quantiles: Float[np.ndarray, " level"], mean: float, deviation: float) -> np.ndarray:
        """The error of the forecast and that of the change are independent: their squares add up."""
        median = quantiles[MEDIAN]
        factor, unit = (mean, median) if self.multiplies else (1.0, 1.0)
        centre = median * mean if self.multiplies else median + mean
        normal = ndtri(LEVELS)
        spread = np.hypot((quantiles - median) * factor, normal * deviation * unit)
        return centre + np.sign(normal) * spread


def holiday_effects(
    values: Float[np.ndarray, " time"], first: int, frequency: Frequency, country: str, horizon: int
) -> HolidayEffects:
    """The public holidays of a country, or of a part of it (`DE-BY`), at the times of a series and of its horizon."""
    week = steps_of_week(frequency)
    times = frequency.times(first + np.arange(len(values) + horizon))
    calendar = public_holidays(country, range(times.iloc[0].year, times.iloc[-1].year + 1))
    return HolidayEffects(values, tuple(calendar.get(time.date(), "") for time in times), week)


def public_holidays(country: str, years: range) -> dict[date, str]:
    """Dates and names, by the package holidays."""
    require("forecast", "--holidays")
    import holidays

    code, _, part = country.upper().partition("-")
    known = holidays.list_supported_countries(include_aliases=False)
    if code not in known:
        raise ConfigError(f"holidays {country!r}: not a country code; DE, US and DE-BY (a part of DE) are")
    if part and part not in known[code]:
        raise ConfigError(f"holidays {country!r}: {did_you_mean(part, known[code]) if known[code] else 'no parts'}")
    return dict(holidays.country_holidays(code, subdiv=part or None, years=years).items())


def steps_of_week(frequency: Frequency) -> int:
    """An error unless every step lies within one day and a week has a whole number of them."""
    if frequency.kind == "business days":
        return 5
    steps = 7 * DAY / frequency.step
    if frequency.kind != "seconds" or frequency.step > DAY or steps != int(steps):
        raise ConfigError(
            f"holidays: are for daily, hourly and other steps within a day; the times are {frequency.name}"
        )
    return int(steps)
