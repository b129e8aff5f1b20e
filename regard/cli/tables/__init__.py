"""Verbs of tables, one file each."""

from regard.cli.tables import compare, explain, fit, forecast, predict
from regard.cli.tables.evaluate import evaluate_table

__all__ = ["compare", "evaluate_table", "explain", "fit", "forecast", "predict"]
