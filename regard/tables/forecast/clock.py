"""The clock of a time column: forecasts are written with the offset, and in the form, in which its times came.

Times are computed without a zone. A fixed offset is left out and put back. In a zone whose offset changes, steps within
a day are regular in UTC alone, and days on the local clock alone.
"""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import numpy as np
import pandas as pd

from regard.data.tables.periods import read_periods, write_periods
from regard.tables.encode.cells import as_label
from regard.tables.encode.times import read_times


@dataclass(frozen=True)
class Clock:
    zone: tzinfo | None = None  # that times are written in
    in_utc: bool = False  # whether they are computed in UTC rather than on the clock of the zone
    form: str = ""  # of months, quarters or weeks

    def written(self, times: pd.Series) -> pd.Series:
        """Computed times as the column had them."""
        if self.form:
            periods = write_periods(times, self.form)
            same = read_periods(periods)
            return periods if same is not None and same[0].equals(times.astype(same[0].dtype)) else times
        if self.zone is None:
            return times
        if self.in_utc:
            return times.dt.tz_localize("UTC").dt.tz_convert(self.zone)
        earlier = np.zeros(len(times), dtype=bool)  # of an hour that comes twice, the second
        return times.dt.tz_localize(self.zone, ambiguous=earlier, nonexistent="shift_forward")

    def text(self, time: Any) -> str:
        """One time, for people."""
        cell = self.written(pd.Series([time])).iloc[0]
        return str(cell) if getattr(cell, "tzinfo", None) is not None else str(as_label(cell))


def read_clock(cells: pd.Series) -> tuple[pd.Series, Clock]:
    """Times to compute with, without a zone; and how to write such times."""
    times = read_times(cells)
    if not pd.api.types.is_datetime64_any_dtype(times.dtype):
        return times, Clock()
    zone = times.dt.tz
    if zone is None:
        text = pd.api.types.infer_dtype(cells, skipna=True) == "string"
        periods = read_periods(cells.astype("str")) if text else None
        return times, Clock(form="" if periods is None else periods[1])
    local = times.dt.tz_localize(None)
    if zone.utcoffset(None) is not None or (local.dropna() == local.dropna().dt.normalize()).all():
        return local, Clock(zone)
    return times.dt.tz_convert("UTC").dt.tz_localize(None), Clock(zone, in_utc=True)
