"""Forecasts: oracles of others for the simple methods, honesty of past forecasts, and bad input in one line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from regard.core.errors import ConfigError
from regard.tables import Forecaster
from regard.tables.forecast import smoothing
from regard.tables.forecast.autoregression import autoregress
from regard.tables.forecast.candidates import forecast_candidates, outcomes, seasonal_naive, shifted_season
from regard.tables.forecast.engine import forecast_series, prepare
from regard.tables.forecast.frequency import detect_period, infer_frequency
from regard.tables.forecast.network import LEVELS
from regard.tables.forecast.quantiles import Mix, fit_mix, pinball
from regard.tables.forecast.report import _compared, _seasons
from regard.tables.forecast.rows import SeriesRows
from regard.tables.forecast.scores import MethodScore, _lead, score_windows
from regard.tables.forecast.series import read_series
from tests.command import regard


def monthly(count: int = 96, seed: int = 0) -> np.ndarray:
    rng, time = np.random.default_rng(seed), np.arange(count)
    return 100 + 0.5 * time + 10 * np.sin(2 * np.pi * time / 12) + rng.normal(size=count)


def sales(count: int = 60, shops: tuple[str, ...] = ("Rome", "Oslo")) -> pd.DataFrame:
    dates = pd.date_range("2024-01-01", periods=count)
    parts = [
        pd.DataFrame({"date": dates, "shop": shop, "units": 20 + 5 * np.sin(np.arange(count) * 2 * np.pi / 7) + place})
        for place, shop in enumerate(shops)
    ]
    return pd.concat(parts, ignore_index=True)


BY = {"by": ["shop"]}


def forecaster(**options) -> Forecaster:
    return Forecaster(**{"time": "date", "value": "units", "horizon": 7, **options})


def test_one_member_of_the_grid_is_statsmodels_damped_holt_winters(monkeypatch: pytest.MonkeyPatch):
    ets = pytest.importorskip("statsmodels.tsa.exponential_smoothing.ets")
    for name, value in {
        "LEVEL_RATES": (0.4,),
        "TREND_RATES": (0.3,),
        "DAMPING": (0.9,),
        "SEASON_RATES": (0.2,),
    }.items():
        monkeypatch.setattr(smoothing, name, value)
    monkeypatch.setattr(smoothing.Grid, "build", lambda seasonal: smoothing.Grid(
        *(np.array([0.4, 0.4, 0.4, 0.4]), np.array([0.0, 0.3, 0.0, 0.3]), np.array([0, 0.9, 0, 0.9])),
        *(np.array([0, 0, 0.2, 0.2]), np.arange(4))))  # fmt: skip
    values = monthly(60)
    ours = smoothing.smooth(values, 12).forecast(3, 18)[-1]
    start = float(np.median(values[:24]))
    profile = smoothing.seasonal_profile(values[:24], 12)
    model = ets.ETSModel(
        values, "add", "add", True, "add", seasonal_periods=12, initialization_method="known", initial_level=start,
        initial_trend=0.0, initial_seasonal=profile,
    )  # fmt: skip
    # Its rates of trend and season are those of the state equations: alpha * beta, and gamma * (1 - alpha).
    result = model.smooth([0.4, 0.4 * 0.3, 0.2 * 0.6, 0.9, start, 0.0, *profile[::-1]])
    np.testing.assert_allclose(ours, result.forecast(18), rtol=1e-6)


def test_simple_methods_are_what_their_names_say():
    values = np.arange(20, dtype=float)
    assert seasonal_naive(values, 4, 6)[-1].tolist() == [16, 17, 18, 19, 16, 17]
    assert shifted_season(values, 4, 6)[-1] == pytest.approx([20, 21, 22, 23, 24, 25])
    assert outcomes(values, 3)[16].tolist() == [17, 18, 19]
    rng = np.random.default_rng(0)
    walk = np.zeros(800)
    for place in range(1, 800):
        walk[place] = 0.6 * walk[place - 1] + rng.normal()
    steps = autoregress(walk + 5, 1, 3)[-1] - 5
    assert steps == pytest.approx(walk[-1] * 0.6 ** np.arange(1, 4), abs=0.35)


def test_no_past_forecast_has_seen_what_followed():
    values, horizon, cut = monthly(80), 6, 60
    changed = np.concatenate([values[:cut], values[cut:] * 3 + 50])
    one, other = (forecast_candidates(each, (12,), horizon) for each in (values, changed))
    calendar = np.zeros((80 + horizon, 1))
    for origin in (40, cut - 1):
        np.testing.assert_allclose(one.forecasts[:, origin], other.forecasts[:, origin], rtol=1e-9)
        np.testing.assert_allclose(one.base[origin], other.base[origin], rtol=1e-9)
        np.testing.assert_allclose(one.scale[origin], other.scale[origin], rtol=1e-6)
        place = np.full(horizon, origin), np.arange(1, horizon + 1)
        cells = [SeriesRows(v, c, (12,), calendar).rows(*place).cells for v, c in ((values, one), (changed, other))]
        np.testing.assert_allclose(*cells, rtol=1e-6)


def test_season_and_trend_are_continued():
    values = monthly(120)
    ahead = forecast_candidates(values[:-12], (12,), 12).base[-1]
    assert np.abs(ahead - values[-12:]).mean() < 2.0
    grown = np.exp(0.03 * np.arange(60))
    assert forecast_candidates(grown, (1,), 6).base[-1][-1] > grown[-1] * 1.1


def test_the_forecast_does_not_depend_on_unit_or_order():
    frame = sales(60, ("Rome",))
    one = forecaster().forecast(frame).table
    other = forecaster().forecast(frame.sample(frac=1, random_state=0).assign(units=frame["units"] * 1000)).table
    np.testing.assert_allclose(one["units"] * 1000, other["units"], rtol=1e-3)
    assert one["date"].tolist() == pd.date_range("2024-03-01", periods=7).tolist()


def test_quantiles_are_ordered_and_the_back_test_is_reported():
    result = forecaster(by=["shop"], quantiles=(0.1, 0.5, 0.9)).forecast(sales())
    table = result.table
    assert list(table) == ["shop", "date", "units", "units_q10", "units_q50", "units_q90"]
    assert (table["units_q10"] <= table["units_q50"]).all()
    assert (table["units_q50"] <= table["units_q90"]).all()
    assert [one.method for one in result.scores] == ["regard", "exponential smoothing", "seasonal naive"]
    assert result.windows == 6
    assert len(table) == 14


def test_the_network_is_followed_where_held_out_errors_favour_it():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=600)
    spread = np.linspace(-1.5, 1.5, len(LEVELS))
    past, network = np.tile(spread, (600, 1)), signal[:, None] + 0.3 * spread
    follow = fit_mix(past, network, signal + 0.1 * rng.normal(size=600), 100)
    ignore = fit_mix(past, network, rng.normal(size=600), 100)
    assert follow.share > 0.7
    assert ignore.share < 0.2
    assert fit_mix(past, network, np.full(600, np.nan), 100) == Mix()
    assert fit_mix(past, None, 0.3 * rng.normal(size=600), 100).spread < 0.8, "intervals are narrowed"


def test_pinball_loss_is_least_at_the_quantile():
    values = np.random.default_rng(0).normal(size=4000)
    losses = [
        pinball(np.tile(np.quantile(values, LEVELS) + shift, (4000, 1)), values).mean(0) for shift in (-0.2, 0.0, 0.2)
    ]
    assert (losses[1] < losses[0]).all()
    assert (losses[1] < losses[2]).all()


def test_scores_of_the_naive_forecast_by_hand():
    series, _ = read_series(sales(40, ("Rome",)), ("date", "units", []), 1, "error")
    held_out = forecast_series(series, 5, None).held_out
    naive = score_windows(held_out)[2]
    values = series[0].values
    errors = [
        np.abs(values[end : end + 5] - values[end - 1]).mean() / np.abs(np.diff(values[:end])).mean()
        for end in (25, 30, 35)
    ]
    assert naive.mase == pytest.approx(np.mean(errors))


@pytest.mark.parametrize(
    ("times", "name", "following"),
    [
        (pd.date_range("2024-01-31", periods=20, freq="ME"), "monthly", "2025-09-30"),
        (pd.date_range("2024-01-15", periods=20, freq="MS"), "monthly", "2025-10-01"),
        (pd.date_range("2020-01-01", periods=20, freq="QS"), "quarterly", "2025-01-01"),
        (pd.date_range("2020-01-01", periods=20, freq="h"), "hourly", "2020-01-01 20:00"),
        (pd.date_range("2020-01-01", periods=20, freq="30min"), "every 30 minutes", "2020-01-01 10:00"),
        (pd.date_range("2024-01-01", periods=20, freq="B"), "business days", "2024-01-29"),
        (pd.date_range("2024-01-01", periods=20, freq="W"), "weekly", "2024-05-26"),
        (pd.date_range("2001-01-01", periods=20, freq="YS"), "yearly", "2021-01-01"),
    ],
)
def test_the_frequency_is_inferred_in_spite_of_a_gap(times: pd.DatetimeIndex, name: str, following: str):
    known = pd.Series(times.delete(7))
    frequency = infer_frequency(known)
    assert frequency.name == name
    assert frequency.positions(known).tolist() == [place for place in range(20) if place != 7]
    assert frequency.times(np.array([20])).iloc[0] == pd.Timestamp(following)


def test_a_period_is_detected_or_not():
    time = np.arange(120)
    assert detect_period(np.sin(2 * np.pi * time / 11) + 0.05 * time) == 11
    assert detect_period(np.random.default_rng(0).normal(size=120)) == 1
    assert detect_period(np.ones(120)) == 1


def test_gaps_are_named_and_short_series_left_out():
    frame = sales(30).drop(index=[5, 6])
    frame = pd.concat([frame, pd.DataFrame({"date": ["2024-01-01"], "shop": ["Lima"], "units": [3.0]})])
    frame["date"] = pd.to_datetime(frame["date"])
    result = forecaster(by=["shop"]).forecast(frame)
    assert "shop Rome: 2 of 30 times have no value: 2024-01-06, 2024-01-07" in result.notes
    assert any("Lima" in note and "left out" in note for note in result.notes)
    assert result.table["shop"].unique().tolist() == ["Oslo", "Rome"]
    assert np.isfinite(result.table["units"]).all()


@pytest.mark.parametrize(
    "values",
    [
        [5.0] * 30,
        [0.0] * 30,
        list(range(-15, 15)),
        [1, 2, 4],
        [0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 1],
        [1e9] * 20 + [1e-9] * 9,
    ],
)
def test_any_series_has_a_forecast(values: list[float]):
    frame = pd.DataFrame({"date": np.arange(len(values)), "units": values})
    result = forecaster(horizon=4).forecast(frame)
    assert np.isfinite(result.table.to_numpy(dtype=float)).all()
    assert result.table["date"].tolist() == list(range(len(values), len(values) + 4))
    if len(set(values)) == 1:
        assert (result.table["units"] == values[0]).all()
    if min(values) >= 0:
        assert (result.table.to_numpy(dtype=float) >= 0).all(), "what was never negative is not forecast to be"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: pd.concat([f, f.iloc[[3]]]), {"by": ["shop"]}, "shop Rome: 2024-01-04 stands in several rows"),
        (lambda f: f, {}, "--by"),
        (lambda f: f.assign(units=np.nan), {"by": ["shop"]}, "no series has at least 3 values"),
        (lambda f: f.assign(units="x"), {"by": ["shop"]}, "is not a number"),
        (lambda f: f.assign(date="soon"), {"by": ["shop"]}, "--time date: holds no dates"),
        (lambda f: f, {"time": "dat"}, "did you mean 'date'"),
        (lambda f: f, {"horizon": 0}, "horizon: must be at least 1"),
        (lambda f: f, {"horizon": 5000}, "horizon: at most"),
        (lambda f: f, {"quantiles": (1.5,)}, "quantiles"),
        (lambda f: f, {"value": "date"}, "must be different"),
        (lambda f: f.assign(date=f["date"].mask(f.index == 5, pd.Timestamp("2024-01-06 07:00"))), BY, "grid"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(change, options: dict, message: str):
    with pytest.raises(ConfigError, match=message) as error:
        forecaster(**options).forecast(change(sales(20)))
    assert "\n" not in str(error.value)


def test_rows_of_a_time_are_added_on_request():
    frame = sales(30)
    both = forecaster(duplicates="sum").forecast(frame).windows_ahead[0].of.series.values
    np.testing.assert_allclose(both, frame.groupby("date")["units"].sum())


def test_a_long_series_is_cut_and_two_seasons_are_read():
    series, _ = read_series(
        pd.DataFrame({"date": pd.date_range("2015-01-01", periods=2000), "units": 1.0}),
        ("date", "units", []),
        None,
        "sum",
    )
    assert series[0].periods == (7, 365)
    assert len(prepare(series[0], 7).values) == 1500


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ([0.1, -0.1, 0.02], "level, 0.007 of MASE is within the noise"),
        ([0.1, 0.11, 0.12], "ahead by 0.110 of MASE (± 0.012"),
        ([-0.1, -0.11, np.nan, -0.12], "behind by 0.110"),
        ([0.3], ""),
    ],
)
def test_a_difference_is_judged_by_the_noise_between_windows(differences, words):
    said = _compared(MethodScore("other", 1.0, 1.0, 0.8, 0.9, *_lead(np.array(differences))))
    assert words in said
    assert bool(said) == bool(words)


def test_seasons_are_named():
    said = "season of 7 steps (2 series), season of 7 and 365 steps (1 series), no season (1 series)"
    assert _seasons([(7, 365), (7,), (7,), (1,)]) == said
    assert _seasons([(7,), (7,)]) == "season of 7 steps"


def test_the_verb_writes_a_table_a_plot_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sales(40).to_csv(tmp_path / "sales.csv", index=False)
    words = ["forecast", str(tmp_path / "sales.csv"), "--time", "date", "--value", "units", "--by", "shop"]
    out, plot = tmp_path / "f.csv", tmp_path / "f.png"
    assert regard(*words, "--horizon", "5", "--out", str(out), "--plot", str(plot)) == 0
    assert len(pd.read_csv(out)) == 10
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "Back-test on 6 held-out windows of 5 steps" in capsys.readouterr().out
    assert regard(*words, "--horizon", "5", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["frequency"] == "daily"
    assert len(document["forecast"]) == 10
    assert regard(*words, "--horizon", "5", "--out", str(tmp_path / "f.pdf")) == 2
    assert regard(*words, "--horizon", "5", "--plot", str(tmp_path / "f.txt")) == 2


def shop_with_holidays(days: int = 800) -> pd.DataFrame:
    """Closed on German holidays, with a week of its own."""
    holidays = pytest.importorskip("holidays")
    dates = pd.date_range("2022-03-01", periods=days)
    units = 100 + 20 * np.sin(np.arange(days) * 2 * np.pi / 7) + np.random.default_rng(0).normal(size=days)
    closed = [date.date() in holidays.country_holidays("DE", years=range(2022, 2026)) for date in dates]
    return pd.DataFrame({"date": dates, "units": np.where(closed, 0.0, units)})


def test_a_holiday_is_forecast_as_past_ones_were():
    frame = shop_with_holidays()
    past, future = frame[frame.date < "2023-12-18"], frame[(frame.date >= "2023-12-18") & (frame.date < "2024-01-04")]
    closed = future.units.to_numpy() == 0
    assert closed.sum() == 3  # Christmas, the day after, New Year
    with_them = forecaster(horizon=len(future), holidays="de").forecast(past)
    without = forecaster(horizon=len(future)).forecast(past)
    predicted, plain = with_them.table.units.to_numpy(), without.table.units.to_numpy()
    assert predicted[closed].max() < 15
    assert plain[closed].min() > 60
    assert np.abs(predicted - future.units)[~closed].max() < 8
    high = with_them.table["units_q95"].to_numpy()
    assert (high >= predicted).all()
    assert with_them.scores[0].mase < without.scores[0].mase


def test_the_effect_of_a_holiday_is_known_only_after_it():
    frame = shop_with_holidays()
    series, _ = read_series(frame, ("date", "units", []), None, "error")
    effects = series[0].with_holidays("DE", 7).holidays
    changed = frame.assign(units=np.where(frame.date > "2023-06-01", 7.0, frame.units))
    other = read_series(changed, ("date", "units", []), None, "error")[0][0].with_holidays("DE", 7).holidays
    assert effects is not None
    assert other is not None
    origin = int(np.flatnonzero(frame.date == "2023-05-26")[0])  # before Whit Monday
    quantiles = np.linspace(80, 120, len(LEVELS))[None].repeat(7, 0)
    assert np.array_equal(effects.apply(quantiles, origin), other.apply(quantiles, origin))
    assert effects.apply(quantiles, origin)[2].max() < 60
    assert np.array_equal(effects.apply(quantiles, origin)[0], quantiles[0])


def test_a_series_with_negative_values_is_shifted_on_holidays():
    frame = shop_with_holidays()
    frame["units"] = np.where(frame.units == 0, -50.0, frame.units - 100)
    series, _ = read_series(frame, ("date", "units", []), None, "error")
    effects = series[0].with_holidays("DE", 7).holidays
    assert effects is not None
    assert not effects.multiplies
    origin = int(np.flatnonzero(frame.date == "2024-04-28")[0])  # before Labour Day
    quantiles = np.linspace(-5, 5, len(LEVELS))[None].repeat(7, 0)
    changed = effects.apply(quantiles, origin)
    assert np.array_equal(changed[0], quantiles[0])
    assert changed[2].max() < -10
    assert (np.diff(changed[2]) > 0).all()


@pytest.mark.parametrize(
    ("code", "message"), [("XX", "not a country code"), ("DE-XX", "DE-XX"), ("", "not a country code")]
)
def test_an_unknown_country_is_one_line(code: str, message: str):
    pytest.importorskip("holidays")
    with pytest.raises(ConfigError, match=message):
        forecaster(holidays=code).forecast(sales(60, ("Rome",)))


def test_months_have_no_holidays():
    frame = pd.DataFrame({"date": pd.date_range("2015-01-01", periods=60, freq="MS"), "units": monthly(60)})
    with pytest.raises(ConfigError, match="the times are monthly"):
        forecaster(holidays="DE").forecast(frame)
