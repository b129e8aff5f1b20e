"""`regard distil`."""

import logging
from pathlib import Path
from typing import Literal

from regard.cli.app import app
from regard.cli.tables.options import Mode

logger = logging.getLogger("regard.tables")


@app.command
def distil(
    run: Path,
    *,
    out: Path,
    to: Literal["tree", "mlp"] = "tree",
    mode: Mode | None = None,
    time_limit: float = 60.0,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Distil a fitted table into a small, fast model that contains no training rows, for `regard predict`.

    Parameters
    ----------
    run
        Run folder of `regard fit`.
    out
        Run folder to write. It contains no rows of the table, and no category of fewer than five rows.
    to
        tree: gradient-boosted trees; mlp: a small multilayer perceptron.
    mode
        Mode in which the teachers of the soft labels are fitted; by default that of the run.
    time_limit
        Seconds to fit the teachers, at most.
    overwrite
        Replace an existing run in the folder.
    json
        Print one JSON object for each target: the scores on held-out rows.
    """
    import json as writer
    from dataclasses import asdict
    from shlex import quote

    from rich.console import Console

    from regard.loading import load_table
    from regard.store import RunFolder
    from regard.tables.distillation.distil import distil as distil_table
    from regard.tables.distillation.rendering import distillation_grid
    from regard.tables.encode.frames import errors_in

    RunFolder(out).check_free(overwrite=overwrite)
    estimator = load_table(run)
    with errors_in(run):
        student = distil_table(estimator, to, mode=mode, time_limit=time_limit)
    student.save(out, overwrite=overwrite)
    console = Console(highlight=False, soft_wrap=True)
    for comparison in student.comparisons_:
        if json:
            print(writer.dumps(asdict(comparison)))
        else:
            console.print(distillation_grid(comparison, to))
    size = sum(file.stat().st_size for file in out.iterdir() if file.is_file())
    logger.info("wrote %s: %s kB, without training rows", out, f"{size / 1000:,.0f}")
    logger.info("next: regard predict %s NEW.csv --out predictions.csv", quote(str(out)))
