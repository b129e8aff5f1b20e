"""Predictions of a file, chunk by chunk: memory stays flat, and an interrupted run goes on where it stopped.

Finished chunks are kept in a folder beside the output, together with a digest of the model, the table and the settings.
The output is assembled from them when all are there, so it is whole or absent.
"""

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

from regard.core.errors import UserError
from regard.core.files import read_json, sha256, write_text
from regard.data.tables.chunks import Chunk
from regard.data.tables.csv_text import table_text
from regard.data.tables.files import check_written, table_chunks, write_frames, write_table
from regard.data.tables.source import TableSource, as_source
from regard.tables.beyond_range import beyond_range
from regard.tables.data_checks import check_new_data
from regard.tables.drift import note_drift
from regard.tables.encode.cells import ROW
from regard.tables.encode.frames import errors_in
from regard.tables.estimators.classifier import NPTClassifier
from regard.tables.estimators.regressor import NPTRegressor
from regard.tables.fewer_members import members_of
from regard.tables.predictions import join_columns, prediction_table
from regard.tables.ranges import check_columns

PROGRESS_SECONDS = 10.0
STATE = "state.json"

logger = logging.getLogger("regard.tables")


@dataclass(frozen=True)
class FilePredictions:
    """Predictions for the rows of a file; the columns `copied` from the file stand before them."""

    estimator: NPTClassifier | NPTRegressor
    table: str | Path | TableSource
    copied: tuple[str, ...] = ()
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)
    threshold: float | None = None

    def write(self, out: str | Path | TableSource, run: Path) -> int:
        """Write all predictions to a file; gives their number. `run` is the folder of the estimator."""
        chunks = self._chunks()
        first = list(islice(chunks, 2))
        if len(first) < 2:
            predicted = self._predict(first[0], 0, set())
            write_table(predicted, out)
            return len(predicted)
        parts = Parts(as_source(out), self._digest(run))
        noted: set[str] = set()
        began, done = time.monotonic(), 0
        said = began
        try:
            for number, chunk in enumerate(chain(first, chunks)):
                if number < len(parts.rows):
                    continue
                start = sum(parts.rows)
                if number and not done:
                    logger.info("going on after %s rows", f"{start:,}")
                predicted = self._predict(chunk, start, noted)
                parts.add(predicted)
                done += len(predicted)
                if time.monotonic() - said > PROGRESS_SECONDS:
                    if said == began and max(members_of(self.estimator), default=0) > 2:
                        logger.info("for many rows: --members 2 is faster, and a run of `regard distil` much faster")
                    said = time.monotonic()
                    logger.info(
                        "predicted %s rows, %.0f a second", f"{start + len(predicted):,}", done / (said - began)
                    )
        except KeyboardInterrupt:
            logger.warning("stopped after %s rows; the same command resumes there", f"{sum(parts.rows):,}")
            raise
        parts.assemble()
        return sum(parts.rows)

    def texts(self) -> Iterator[str]:
        """The predictions as CSV, one text for each chunk."""
        start, noted = 0, set[str]()
        for chunk in self._chunks():
            predicted = self._predict(chunk, start, noted)
            yield table_text(predicted, header=start == 0)
            start += len(predicted)

    def _chunks(self) -> Iterator[Chunk]:
        has_dates = any(column.kind == "date" for column in self.estimator.columns_.columns)
        return table_chunks(self.table, whole=has_dates)

    def _predict(self, chunk: Chunk, start: int, noted: set[str]) -> pd.DataFrame:
        with errors_in(self.table):
            frame = chunk.frame()
            frame = frame.set_axis(
                pd.RangeIndex(start, start + len(frame), name=ROW)
            )  # errors name the row in the file
            for line in (*check_new_data(self.estimator.columns_, frame), *beyond_range(self.estimator, frame)):
                if (column := line.split(": ")[0]) not in noted:
                    noted.add(column)
                    logger.warning("note: %s", f"from row {start:,} on: {line}" if start else line)
            check_columns(self.copied, list(frame))
            predicted = prediction_table(self.estimator, frame, self.quantiles, self.threshold)
            if not start and (line := note_drift(self.estimator, frame)):
                logger.warning("note: %s: %s", self.table, line)
        if self.copied:
            predicted = join_columns(chunk.cells(tuple(dict.fromkeys(self.copied))), predicted)
        return predicted

    def _digest(self, run: Path) -> str:
        """Equal where model, table and settings are, so that chunks which were predicted before can be used."""
        files = sorted(file for file in run.iterdir() if file.is_file())
        words = [
            as_source(self.table).digest(),
            *map(sha256, files),
            str(self.copied),
            str(self.quantiles),
            str(self.threshold),
            str(self.estimator.target_names_),
            str(members_of(self.estimator)),
        ]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()


class Parts:
    """The chunks of an output that are done, as Parquet in a folder beside it."""

    def __init__(self, out: TableSource, digest: str):
        check_written(out)
        self.out, self.digest = out, digest
        self.folder = out.path.with_name(f".{out.path.name}.partial")
        self.rows: list[int] = []  # of each part
        try:
            if (self.folder / STATE).is_file():
                self._resume(read_json(self.folder / STATE))
            if not self.rows:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir(parents=True)
        except OSError as error:
            raise UserError(f"{self.folder}: cannot be written ({error.strerror})") from None

    def _resume(self, state: Any) -> None:
        rows = state.get("rows")
        known = state.get("digest") == self.digest and isinstance(rows, list)
        if known and all(isinstance(each, int) and self._part(number).is_file() for number, each in enumerate(rows)):
            self.rows = rows
        else:
            logger.info("%s: is of another model, table or setting, and is begun anew", self.folder)

    def add(self, predicted: pd.DataFrame) -> None:
        write_table(predicted, self._part(len(self.rows)))
        self.rows.append(len(predicted))
        write_text(self.folder / STATE, json.dumps({"digest": self.digest, "rows": self.rows}))

    def assemble(self) -> None:
        """Write the output, and remove the parts."""
        parts = (pd.read_parquet(self._part(number)) for number in range(len(self.rows)))
        write_frames(parts, self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.parquet"
