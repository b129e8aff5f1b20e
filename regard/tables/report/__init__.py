"""The report of a fitted table: measured on held-out rows, and drawn as one HTML page.

report = model.report()          # or model.report(test_rows, test_targets)
report.save("report.html")
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from regard.core.errors import UserError
from regard.core.files import write_text
from regard.tables.report.measure import TestTable, measure
from regard.tables.report.next_steps import Origin
from regard.tables.report.page import render
from regard.tables.report.results import Results

__all__ = ["Origin", "Report", "Results", "TestTable", "make_report", "measure"]

FRAME = 900  # height in a notebook, in pixels


@dataclass(frozen=True)
class Report:
    """A report: what was measured, and the page."""

    results: Results
    html: str

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        file = Path(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, self.html)
        except OSError as error:
            raise UserError(f"{file}: cannot be written ({error.strerror})") from None

    def _repr_html_(self) -> str:
        """In a notebook: a frame of its own, so that the styles of the two do not mix."""
        style = f"width:100%;height:{FRAME}px;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="Report"></iframe>'


def make_report(estimator: object, origin: Origin, test: TestTable | None = None) -> Report:
    """Measure a fitted estimator and draw the page."""
    results = measure(estimator, origin, test)
    return Report(results, render(results))
