"""The command line: verbs, each a few lines that call the library. Nothing heavy is imported before a verb needs it."""

from regard.cli import look, runs, setup, study, tables, verbs
from regard.cli.main import main
from regard.cli.panels import arrange

arrange()

__all__ = ["look", "main", "runs", "setup", "study", "tables", "verbs"]
