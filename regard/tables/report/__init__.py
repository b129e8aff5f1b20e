"""The report of a fitted table: measured on held-out rows, and drawn as one HTML page.

report = model.report()          # or model.report(test_rows, test_targets)
report.save("report.html")
"""

from regard.tables.report.report import Report, report_model, report_run
from regard.tables.report.results import Results

__all__ = ["Report", "Results", "report_model", "report_run"]
