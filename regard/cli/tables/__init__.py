"""Verbs of tables, one file each."""

from regard.cli.tables import anomalies, compare, distil, explain, fit, forecast, predict
from regard.cli.tables.evaluate import evaluate_table

__all__ = ["anomalies", "compare", "distil", "evaluate_table", "explain", "fit", "forecast", "predict"]
