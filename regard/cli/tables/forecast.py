"""`regard forecast`."""

import logging
from pathlib import Path
from typing import Literal

from regard.cli.app import app
from regard.cli.results import count_rows

logger = logging.getLogger("regard.tables")


@app.command
def forecast(
    table: Path,
    *,
    time: str,
    value: str,
    horizon: int,
    by: tuple[str, ...] = (),
    out: Path | None = None,
    plot: Path | None = None,
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
    season: int | None = None,
    holidays: str | None = None,
    duplicates: Literal["error", "sum", "mean"] = "error",
    weights: Path | None = None,
    query: str = "",
    json: bool = False,
) -> None:
    """Forecast the next values of a column over time, with intervals and a back-test; nothing is trained.

    Parameters
    ----------
    table
        A table, from a file as for `regard fit`; rows in any order.
    time
        Column of dates, or of numbers that count steps.
    value
        Column to forecast.
    horizon
        How many steps ahead.
    by
        Columns that tell series apart, such as the shop.
    out
        Table file to write, as for `regard predict`, whole or not at all; by default CSV goes to standard output.
    plot
        .png, .svg or .pdf file to draw.
    quantiles
        Quantiles to write beside the median.
    season
        Steps of a season; by default those of the frequency (7 for daily, 12 for monthly values). 1: no season.
    holidays
        Country, or part of one, whose public holidays change the values: DE, US, DE-BY.
    duplicates
        What rows of the same time in the same series are: an error, or parts to add up or average.
    weights
        Run folder of `regard pretrain tables` to use instead of the shipped weights.
    query
        SQL select on a SQLite or DuckDB file, which is opened read-only.
    json
        Print the back-test and, without `--out`, the forecasts as one JSON object.
    """
    from rich.console import Console

    from regard.data.tables.csv_text import table_text
    from regard.data.tables.files import check_written, read_table, write_table
    from regard.data.tables.source import read_source
    from regard.tables.encode.frames import errors_in
    from regard.tables.forecast.forecaster import Forecaster
    from regard.tables.forecast.plot import check_plot, draw_forecast
    from regard.tables.forecast.report import as_json, backtest_grid, log_series

    if out is not None:
        check_written(out)
    if plot is not None:
        check_plot(plot)
    forecaster = Forecaster(
        time=time,
        value=value,
        horizon=horizon,
        by=by,
        quantiles=quantiles,
        season=season,
        holidays=holidays,
        duplicates=duplicates,
        weights=str(weights) if weights else None,
    )
    source = read_source(table, query)
    frame = read_table(source)
    with errors_in(source):
        result = forecaster.forecast(frame)
    log_series(result)
    if plot is not None:
        draw_forecast(result, forecaster, plot)
        logger.info("wrote %s", plot)
    if out is not None:
        write_table(result.table, out)
    if json:
        print(as_json(result, with_table=out is None))
    elif out is None:
        print(table_text(result.table), end="")
    if result.scores and not json:
        Console(highlight=False, soft_wrap=True, stderr=out is None).print(backtest_grid(result))
    if out is not None:
        logger.info("wrote %s: %s", out, count_rows(len(result.table)))
