"""Series read from the rows of a table: one for each group, on a regular grid of times, with what was noticed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from regard.core.errors import ConfigError
from regard.tables.encode.cells import ROW, as_label, read_numbers
from regard.tables.encode.columns import nearest
from regard.tables.forecast.clock import Clock, read_clock
from regard.tables.forecast.frequency import Frequency, detect_period, infer_frequency
from regard.tables.forecast.holiday_effects import HolidayEffects, holiday_effects

Duplicates = Literal["error", "sum", "mean"]
FEW = 10  # values: a forecast from fewer is a guess
LEAST = 3  # values: fewer show no change to judge an interval by
SHOWN = 3  # missing times that a note names


@dataclass(frozen=True)
class Series:
    key: tuple[object, ...]  # cells of the columns that name it; empty if there is only one
    values: Float[np.ndarray, " time"]  # NaN where missing
    first: int  # place of the first one on the grid
    frequency: Frequency
    periods: tuple[int, ...]  # lengths of its seasons, (1,) if it has none
    holidays: HolidayEffects | None = None
    clock: Clock = Clock()

    @property
    def ordinary(self) -> Float[np.ndarray, " time"]:
        """The values without the effects of holidays."""
        return self.values if self.holidays is None else self.holidays.ordinary

    def with_holidays(self, country: str, horizon: int) -> "Series":
        return replace(self, holidays=holiday_effects(self.values, self.first, self.frequency, country, horizon))

    @property
    def name(self) -> str:
        return ", ".join(str(as_label(cell)) for cell in self.key)

    def times(self, start: int, count: int) -> pd.Series:
        """Times from the value number `start` on; there are more than values."""
        return self.frequency.times(self.first + np.arange(start, start + count))


def read_series(
    frame: pd.DataFrame,
    columns: tuple[str, str, Sequence[str]],
    season: int | None,
    duplicates: Duplicates,
) -> tuple[list[Series], list[str]]:
    """The series of a table, and notes on them. `columns` are those of the time, of the value, and of the names."""
    time, value, by = columns
    for name in (time, value, *by):
        if name not in frame:
            raise ConfigError(f"no column {name!r}; {nearest(name, list(frame))}")
    frame = frame.reset_index(drop=True).rename_axis(ROW)
    times, clock = read_clock(frame[time])
    numbers = pd.Series(read_numbers(frame[value]), index=frame.index)
    notes = []
    if undated := int(times.isna().sum()):
        notes.append(f"{undated:,} rows have no {time!r}: ignored")
    known = times.notna()
    if not known.any():
        raise ConfigError(f"column {time!r}: is empty in every row")
    groups: dict[tuple[object, ...], pd.Index] = {(): frame.index[known]}
    if by:
        groups = {key: part.index for key, part in frame[known].groupby(list(by), dropna=False)}
    frequency = _frequency([times[rows] for rows in groups.values()])
    series = []
    for key, rows in groups.items():
        where = f"{_named(by, key)}: " if by else ""
        try:
            read, more = _read_one(key, (times[rows], clock), numbers[rows], frequency, season, duplicates)
        except ConfigError as error:
            raise ConfigError(f"{where}{error}") from None
        if np.isfinite(read.values).sum() < LEAST:
            notes.append(f"{where}has fewer than {LEAST} values, and is left out")
            continue
        series.append(read)
        notes += [f"{where}{note}" for note in more]
    if not series:
        raise ConfigError(f"column {value!r}: no series has at least {LEAST} values at different times")
    return series, notes


def _frequency(times: Sequence[pd.Series]) -> Frequency:
    """That of the longest series: a gap in a short one must not set it."""
    longest = max(times, key=lambda each: each.nunique())
    return infer_frequency(longest.drop_duplicates().sort_values(ignore_index=True))


def _read_one(
    key: tuple[object, ...],
    clocked: tuple[pd.Series, Clock],
    numbers: pd.Series,
    frequency: Frequency,
    season: int | None,
    duplicates: Duplicates,
) -> tuple[Series, list[str]]:
    times, clock = clocked
    places = pd.Series(frequency.positions(times), index=times.index)
    values = pd.Series(numbers.to_numpy(), index=places.to_numpy())
    if places.duplicated().any():
        if duplicates == "error":
            again = times[places.duplicated()].iloc[0]
            raise ConfigError(
                f"{clock.text(again)} stands in several rows; keep one, name the columns that tell series apart with "
                "--by, or pass --duplicates sum"
            )
        by_place = values.groupby(level=0)
        values = by_place.sum(min_count=1) if duplicates == "sum" else by_place.mean()
    values = values.dropna()
    if values.empty:
        return Series(key, np.zeros(0), 0, frequency, (1,)), []
    whole = values.reindex(range(int(values.index.min()), int(places.max()) + 1))
    array = whole.to_numpy(dtype=np.float64)
    array = array[: int(np.flatnonzero(np.isfinite(array))[-1]) + 1]  # what is asked begins after the last value
    series = Series(key, array, int(whole.index[0]), frequency, _periods(array, frequency, season), clock=clock)
    return series, list(_notes(series))


def _periods(values: Float[np.ndarray, " time"], frequency: Frequency, season: int | None) -> tuple[int, ...]:
    """Seasons of which there are at least two."""
    if season is not None:
        return (season,) if season <= len(values) // 2 else (1,)
    known = frequency.periods
    if not known or frequency.name not in ("daily", "weekly", "monthly", "quarterly", "hourly", "business days"):
        known = (*known, detect_period(values))
    return tuple(period for period in known if 1 < period <= len(values) // 2) or (1,)


def _notes(series: Series) -> list[str]:
    notes = []
    missing = np.flatnonzero(~np.isfinite(series.values))
    if len(missing):
        dates = [series.clock.text(series.times(int(place), 1).iloc[0]) for place in missing[:SHOWN]]
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        notes.append(f"{len(missing):,} of {len(series.values):,} times have no value: {', '.join(dates)}{more}")
    if len(series.values) < FEW:
        notes.append(f"has only {len(series.values)} values: its forecast is a guess")
    return notes


def _named(by: Sequence[str], key: tuple[object, ...]) -> str:
    return ", ".join(f"{name} {as_label(cell)}" for name, cell in zip(by, key, strict=True))
