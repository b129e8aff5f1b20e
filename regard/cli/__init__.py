"""The command line: verbs, each a few lines that call the library. Nothing heavy is imported before a verb needs it."""

from regard.cli import bench, export, merge, runs, serve, setup, study, tables, verbs, view
from regard.cli.main import main
from regard.cli.panels import arrange

arrange()

__all__ = ["bench", "export", "main", "merge", "runs", "serve", "setup", "study", "tables", "verbs", "view"]
