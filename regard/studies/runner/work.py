"""One run of a study, in a process of its own that ends with the study's."""

import math
from pathlib import Path

from regard.data.text.pair_files import PairFiles
from regard.studies.runner.folder import Outcome, StudyFolder
from regard.tasks import load_run
from regard.tasks.plan import Plan
from regard.tasks.training import train
from regard.tasks.translate.task import exact_match as exact_match_score
from regard.train import DivergedError, Report


def work(study: Path, key: str, *, exact_match: bool = False) -> int:
    """Make or resume a run and write its outcome; returns the exit code."""
    folder = StudyFolder(study)
    if folder.outcome(key) is not None:
        return 0
    plan, out = folder.plan(key), folder.run(key)
    out.parent.mkdir(exist_ok=True)
    try:
        report = train(plan, out, resume=True, scored=False)
    except DivergedError as error:
        progress = error.progress
        reason = f"no finite loss or gradient from step {progress.step - progress.bad_in_a_row + 2:,} on"
        folder.write_outcome(key, Outcome(None, progress.step, progress.seconds, diverged=reason))
        return 0
    if report.stopped_by:
        return 128 + report.stopped_by
    folder.write_outcome(key, _outcome(plan, out, report, exact_match))
    return 0


def _outcome(plan: Plan, out: Path, report: Report, exact_match: bool) -> Outcome:
    best, progress = report.progress.best, report.progress
    if best is None or not math.isfinite(best):
        return Outcome(None, progress.step, progress.seconds, diverged="the validation loss is not finite")
    score = None
    if exact_match and isinstance(plan.data, PairFiles):
        score = exact_match_score(load_run(out), plan.data.pairs()["valid"])
    return Outcome(best, progress.step, progress.seconds, exact_match=score)
