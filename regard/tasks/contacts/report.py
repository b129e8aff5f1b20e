"""What `regard contacts` and `regard variants` write, print and draw."""

import logging
from pathlib import Path

import pandas as pd
from torch import Tensor

from regard.core.errors import UserError
from regard.core.extras import require
from regard.data.alignments.alignment import Alignment
from regard.data.alignments.alphabet import Molecule
from regard.data.alignments.formats import read_alignment
from regard.data.alignments.structures import distances_for
from regard.data.tables.files import check_written, write_table
from regard.tasks.contacts.output import contact_table, variant_table
from regard.tasks.contacts.predict import Prediction
from regard.tasks.contacts.scores import FEW, LONG_RANGE, precision
from regard.tasks.contacts.shipped import contact_run

SHOWN = 20  # rows of a table that is printed
PICTURES = (".png", ".svg", ".pdf")

log = logging.getLogger(__name__)


def report_contacts(
    path: Path,
    out: Path | None,
    structure: Path | None,
    compare: bool,
    plot: Path | None,
    molecule: Molecule | None,
    weights: Path | None,
) -> str:
    """Writes what is asked for; returns what is to be printed."""
    if out is not None:
        check_written(out)
    if plot is not None:
        _check_plot(plot)
    alignment = read_alignment(path, molecule)
    distance = None if structure is None else distances_for(alignment, structure)
    if alignment.length <= (apart := alignment.alphabet.separation):
        raise UserError(
            f"{path}: the first sequence has {alignment.length} residues; pairs nearer than {apart} in the chain are "
            f"not predicted, so at least {apart + 1} are needed"
        )
    run = contact_run(weights)
    if alignment.sequences < FEW:
        log.info(
            "note: %s has %s sequences; with fewer than %s, few contacts are reliable", path, alignment.sequences, FEW
        )
    prediction: Prediction = run.predict(alignment)
    table = contact_table(alignment, prediction, distance, compare=compare)
    printed = [_put(table, out)]
    if distance is not None:
        printed.append(_precisions(alignment, prediction, distance, compare))
    if plot is not None:
        from regard.tasks.contacts.plot import plot_contacts

        plot_contacts(alignment, prediction, distance, plot)
        log.info("wrote %s", plot)
    return "\n\n".join(text for text in printed if text)


def report_variants(path: Path, out: Path | None, weights: Path | None) -> str:
    if out is not None:
        check_written(out)
    alignment = read_alignment(path)
    prediction: Prediction = contact_run(weights).predict(alignment, letters=True)
    table = variant_table(alignment, prediction)
    return _put(table if out is not None else table.sort_values("score"), out)


def _put(table: pd.DataFrame, out: Path | None) -> str:
    """Write a table, or return its first rows."""
    if out is None:
        return table.head(SHOWN).to_string(index=False)
    write_table(table, out)
    log.info("wrote %s", out)
    return ""


def _precisions(alignment: Alignment, prediction: Prediction, distance: Tensor, compare: bool) -> str:
    """A line for each method: which fraction of its highest scored pairs touch in the structure."""
    methods = prediction.methods if compare else {"regard": prediction.contact}
    scores = {name: precision(score, distance, alignment.alphabet) for name, score in methods.items()}
    if not scores["regard"]:
        raise UserError(f"{alignment.name}: the structure has no pair of residues {LONG_RANGE} or more apart")
    frame = pd.DataFrame(scores).T
    frame.columns = [f"top {name}" for name in frame.columns]
    return frame.to_string(float_format=lambda value: f"{value:.3f}")


def _check_plot(plot: Path) -> None:
    require("plot", "--plot")
    if plot.suffix.lower() not in PICTURES:
        raise UserError(f"--plot {plot}: must end in {', '.join(PICTURES)}")
    if not plot.parent.is_dir():
        raise UserError(f"--plot {plot}: there is no folder {plot.parent}")
