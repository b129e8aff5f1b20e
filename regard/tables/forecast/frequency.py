"""The frequency of a series: how far its times lie apart, and how long its seasons may be."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from regard.core.errors import ConfigError

DAY = 86_400  # seconds
MONTHS = {1: "monthly", 3: "quarterly", 12: "yearly"}
LONGEST_SEASON = 400  # steps
TOLERANCE = 0.02  # of a step: clocks are not exact
Kind = Literal["months", "seconds", "business days", "numbers"]


@dataclass(frozen=True)
class Frequency:
    """A grid of times: `start` and every `step` after it."""

    kind: Kind
    step: float  # months, seconds or numbers; 1 of business days
    start: Any  # a timestamp, or a number
    month_end: bool = False

    @property
    def name(self) -> str:
        if self.kind == "numbers":
            return f"every {self.step:g}"
        if self.kind == "business days":
            return "business days"
        if self.kind == "months":
            return MONTHS.get(int(self.step), f"every {self.step:g} months")
        names = {7 * DAY: "weekly", DAY: "daily", 3600: "hourly", 60: "every minute", 1: "every second"}
        unit, word = (DAY, "days") if self.step >= DAY else (3600, "hours") if self.step >= 3600 else (60, "minutes")
        return names.get(int(self.step), f"every {self.step / unit:g} {word}")

    @property
    def periods(self) -> tuple[int, ...]:
        """Steps of the seasons that times of this frequency have, the most important one first."""
        if self.kind == "months":
            return (round(12 / self.step),) if self.step < 12 and 12 % self.step == 0 else ()
        if self.kind == "business days":
            return (5, 261)
        if self.kind == "numbers":
            return ()
        spans = (365.25,) if self.step == 7 * DAY else (7, 365.25) if self.step >= DAY else (1, 7)
        steps = [int(span * DAY / self.step) for span in spans]
        return tuple(each for each in steps if 1 < each <= LONGEST_SEASON)

    def positions(self, times: pd.Series) -> Int[np.ndarray, " row"]:
        """The place of each time on the grid; a time beside it is an error."""
        if self.kind == "months":
            months = 12 * times.dt.year + times.dt.month
            first = 12 * self.start.year + self.start.month
            places = (months - first).to_numpy(dtype=np.float64) / self.step
        elif self.kind == "business days":
            start = np.datetime64(self.start, "D")
            return np.busday_count(start, times.to_numpy().astype("datetime64[D]"))
        elif self.kind == "numbers":
            places = (times.to_numpy(dtype=np.float64) - self.start) / self.step
        else:
            places = ((times - self.start) / pd.Timedelta(seconds=self.step)).to_numpy(dtype=np.float64)
        wrong = np.flatnonzero(np.abs(places - np.rint(places)) > TOLERANCE)
        if len(wrong):
            one = times.iloc[wrong[0]]
            raise ConfigError(
                f"{_written(one)} is not on the grid: the times are {self.name} from {_written(self.start)} on; "
                "correct it, or aggregate to regular steps"
            )
        return np.rint(places).astype(int)

    def times(self, positions: Int[np.ndarray, " row"]) -> pd.Series:
        """The times at places of the grid."""
        if self.kind == "numbers":
            numbers = self.start + self.step * positions
            whole = float(self.step).is_integer() and float(self.start).is_integer()
            return pd.Series(numbers.astype(int) if whole else numbers)
        start = pd.Timestamp(self.start)
        if self.kind == "months":
            times = pd.Series([start + pd.DateOffset(months=int(place * self.step)) for place in positions])
            return times + pd.offsets.MonthEnd(0) if self.month_end else times
        if self.kind == "business days":
            days = np.busday_offset(np.datetime64(start, "D"), positions, roll="forward")
            return pd.Series(pd.to_datetime(days))
        return pd.Series(start + pd.to_timedelta(positions * self.step, unit="s"))

    def calendar(self, positions: Int[np.ndarray, " row"], season: int) -> Float[np.ndarray, "row part"]:
        """Features of times: sine and cosine of the phase of each season, and of dates the day of month and year.

        `season` is that of the series, for times that have none of their own.
        """
        parts = []
        for period in self.periods or (season,):
            for wave in (1, 2):
                angle = 2 * np.pi * wave * positions / period
                parts += [np.sin(angle), np.cos(angle)]
        if self.kind in ("seconds", "business days"):
            times = self.times(positions)
            year = 2 * np.pi * times.dt.day_of_year.to_numpy() / 365.25
            parts += [times.dt.day.to_numpy() / 31, np.sin(year), np.cos(year)]
        return np.stack(parts, 1).astype(np.float64)


def infer_frequency(times: pd.Series) -> Frequency:
    """The frequency of the distinct times of all series, sorted."""
    if pd.api.types.is_numeric_dtype(times.dtype):
        gaps = np.diff(times.to_numpy(dtype=np.float64))
        return Frequency("numbers", float(np.median(gaps)) if len(gaps) else 1.0, float(times.iloc[0]))
    gaps = times.diff().dropna().dt.total_seconds().to_numpy()
    if not len(gaps):
        return Frequency("seconds", DAY, times.iloc[0])
    typical = float(np.median(gaps))
    end = bool(times.dt.is_month_end.all())
    for months in (1, 3, 12):
        if 28 * months - 1 <= typical / DAY <= 31 * months + 1 and _same_day(times):
            return Frequency("months", months, times.iloc[0], end)
    weekend = times.dt.day_of_week.ge(5).any()
    midnight = (times == times.dt.normalize()).all()
    if typical == DAY and midnight and not weekend and len(times) > 10:
        return Frequency("business days", 1, times.iloc[0])
    return Frequency("seconds", typical, times.iloc[0])


def _same_day(times: pd.Series) -> bool:
    """Whether times can stand for months: the same day of each, or its last one."""
    return bool(times.dt.day.nunique() == 1 or times.dt.is_month_end.all())


def _written(time: object) -> str:
    if isinstance(time, pd.Timestamp):
        return str(time.date()) if time == time.normalize() else str(time)
    return f"{time:g}" if isinstance(time, float) else str(time)


def detect_period(values: Float[np.ndarray, " time"]) -> int:
    """The lag of the largest peak of the autocorrelation of the detrended past, if it is significant; otherwise 1."""
    count = len(values)
    if count < 16 or not np.isfinite(values).all() or np.ptp(values) == 0:
        return 1
    time = np.arange(count)
    rest = values - np.polyval(np.polyfit(time, values, 1), time)
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(rest, size)) ** 2
    correlation = np.fft.irfft(spectrum)[: min(count // 3, LONGEST_SEASON) + 2]
    correlation = correlation / correlation[0]
    inside = correlation[1:-1]
    peaks = np.flatnonzero((inside > correlation[:-2]) & (inside >= correlation[2:])) + 1
    peaks = peaks[peaks >= 2]
    if not len(peaks):
        return 1
    best = int(peaks[np.argmax(correlation[peaks])])
    return best if correlation[best] > max(0.3, 2 / np.sqrt(count)) else 1
