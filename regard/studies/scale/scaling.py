"""Scaling: small runs of several sizes and budgets, laws fitted to them, a larger run predicted before it is made."""

import json
import logging
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regard.core.config import override
from regard.core.errors import ConfigError, UserError, at_least
from regard.core.files import read_json, write_text
from regard.core.machine import usable_cores
from regard.studies.ablate.base import base_plan
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.learning_rate import find_learning_rate, first_jobs, search_runs, with_learning_rate
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import EVALUATIONS, USABLE, Timing, estimate, measure_timings, steps_within
from regard.studies.scale.best_size import best_sizes
from regard.studies.scale.flops import count_parameters, forward_flops, training_flops
from regard.studies.scale.laws import MIN_RUNS, Interval, Point, fit_joint
from regard.studies.scale.report import ScalingResults, report_scaling
from regard.tasks.plan import Plan
from regard.train import AdamW
from regard.train.display import clock

log = logging.getLogger(__name__)
FRACTIONS = (0.125, 0.25, 0.5, 1.0)  # of the maximum number of steps
HEAD_SIZE = 16  # at every width of the model
# Width × layers of the runs on the grid, and last of the predicted run; by the core-seconds that they need.
GRIDS = {
    4000.0: ("64x3", "96x4", "128x5", "192x6", "256x7"),
    600.0: ("32x2", "48x3", "64x4", "96x4", "128x5"),
    0.0: ("16x1", "32x2", "48x2", "64x3", "96x3"),
}
PREDICTION = "prediction.json"


@dataclass(frozen=True)
class Scaling:
    """The settings of a scaling study; the same settings in the same folder resume it."""

    data: tuple[str, ...]
    valid: tuple[str, ...] = ()
    minutes: float = 30.0
    steps: int | None = None  # of the longest runs, instead of minutes
    sizes: tuple[str, ...] = ()  # such as 64x3; the last one is predicted
    overrides: Mapping[str, Any] | None = None  # dotted settings of all runs

    def __post_init__(self) -> None:
        at_least(8, steps=self.steps)
        if not 0 < self.minutes < 1e6:
            raise ConfigError(f"minutes: must be more than 0, not {self.minutes}")
        for size in self.sizes:
            read_size(size)
        if self.sizes and len(set(self.sizes)) < 4:
            raise ConfigError(f"sizes: needs at least three to fit and one to predict, not {', '.join(self.sizes)}")


def read_size(text: str) -> tuple[int, int]:
    """64x3: width 64, three layers."""
    width, cross, layers = text.partition("x")
    if not (cross and width.isdecimal() and layers.isdecimal() and int(layers) and int(width)):
        raise ConfigError(f"--sizes {text}: must be width x layers, such as 64x3")
    if int(width) % HEAD_SIZE and int(width) > HEAD_SIZE:
        raise ConfigError(
            f"--sizes {text}: a width above {HEAD_SIZE} must be a multiple of {HEAD_SIZE}, the size of a head"
        )
    return int(width), int(layers)


def study_scaling(study: Scaling, out: Path, processes: int | None, budgets: Sequence[float] = ()) -> None:
    """`budgets` are FLOPs to print the best size for, also those of a complete study."""
    for flops in budgets:
        if not 0 < flops < math.inf:
            raise ConfigError(f"--for-budget {flops:g}: must be a number of FLOPs above 0, such as 1e15")
    with StudyFolder(out).open(asdict(study)) as folder, tempfile.TemporaryDirectory() as scratch:
        cores = folder.cached("cores", lambda: processes or usable_cores())
        seconds = USABLE * 60 * study.minutes * cores
        sizes = study.sizes or next(grid for least, grid in GRIDS.items() if seconds >= least)
        base = _base(study)
        with prepared(base, Path(scratch) / "run") as ready:
            base = replace(base, model=ready.model)
            forward_flops(base.model, 1)  # refuses a model that cannot be counted
            measured = folder.cached("timings", lambda: measure_timings(_sized(base, sizes), ready))
            epoch = ready.train.steps_per_epoch
        timings = {size: Timing(**timing) for size, timing in measured.items()}
        steps = folder.cached("steps", lambda: _steps(study, seconds, cores, timings))
        trial = _job(sizes[0], _sized(base, sizes)[sizes[0]], steps).plan
        grid = [*first_jobs(trial, study.overrides), *_grid(_sized(base, sizes), steps)]
        _log_estimate(folder, grid, timings, processes or usable_cores())
        lr = find_learning_rate(folder, trial, study.overrides, processes)
        *grid, large = _grid(_sized(lr.apply(base), sizes), steps)
        points = _points(grid, run_jobs(folder, grid, processes))
        if len(points) < MIN_RUNS:
            raise UserError(f"{out}: only {len(points)} of {len(grid)} runs have a finite loss, too few to fit a law")
        fit = fit_joint(list(points.values()))
        prediction = _predict(folder, fit.predict(*_counts(large)[:2]), large)
        loss = run_jobs(folder, [large], 1)[large.key].loss
        tokens_per_step = _counts(large)[1] / (large.plan.training.steps or 1)
        best = best_sizes(fit, list(points.values()), budgets, epoch * tokens_per_step)
        checked = Point(*_counts(large), math.nan if loss is None else loss, _embedding(large))
        results = ScalingResults(study.data, points, fit, prediction, checked, best, grid[0].plan, epoch, lr)
        report_scaling(folder.path, results)
        for one in best:
            log.info("%s", one)
        log.info("wrote %s and %s", out / "report.html", out / "report.md")


def _base(study: Scaling) -> Plan:
    """What all sizes share: the plain base without dropout, then the user's settings."""
    plan = override(base_plan("lm", study.data, study.valid, None, 60), {"model.dropout": 0.0})
    return override(plan, study.overrides or {})


def _sized(plan: Plan, sizes: Sequence[str]) -> dict[str, Plan]:
    """Depth and width grow together. The learning rate is that of the first size; Adam's falls with the width."""
    first, optimiser, plans = read_size(sizes[0])[0], plan.training.optimiser, {}
    for size in sizes:
        width, layers = read_size(size)
        sized = {"model.width": width, "model.layers": layers, "model.heads": max(1, width // HEAD_SIZE)}
        factor = first / width if isinstance(optimiser, AdamW) else 1.0
        plans[size] = with_learning_rate(override(plan, sized), optimiser.lr * factor)
    return plans


def _steps(study: Scaling, seconds: float, cores: int, timings: Mapping[str, Timing]) -> int:
    """Of the longest runs."""
    if study.steps is not None:
        return study.steps
    *small, large = timings.values()
    # In units of longest runs: the grid by its fractions of them; and all cores wait for the large run.
    grid = [Timing(fraction * timing.step, timing.evaluation) for timing in small for fraction in FRACTIONS]
    return steps_within(seconds, [*[small[0]] * search_runs(study.overrides), *grid, *[large] * cores])


def _log_estimate(folder: StudyFolder, jobs: Sequence[Job], timings: Mapping[str, Timing], cores: int) -> None:
    """`jobs` are the runs of the grid and of the learning-rate search, and last the predicted run."""

    def seconds(job: Job) -> float:
        timing = timings.get(job.name.split("@")[0], next(iter(timings.values())))  # the search is of the smallest
        return timing.run(job.plan.training.steps or 0)

    *grid, large = jobs
    if pending := folder.pending(grid):
        log.info(estimate([seconds(job) for job in pending], cores))
    if folder.pending([large]):
        log.info("then the predicted run, on one core: about %s", clock(seconds(large)))


def _grid(plans: Mapping[str, Plan], steps: int) -> list[Job]:
    """Every size at every budget, the longest first; last the predicted run."""
    *small, large = plans
    budgets = [max(1, round(fraction * steps)) for fraction in sorted(FRACTIONS, reverse=True)]
    jobs = [_job(size, plans[size], count) for count in budgets for size in reversed(small)]
    return [*jobs, _job(large, plans[large], steps)]


def _job(size: str, plan: Plan, steps: int) -> Job:
    training = replace(plan.training, steps=steps, eval_every=max(1, -(-steps // EVALUATIONS)), seed=0)
    return Job(f"{size}@{steps}", 0, replace(plan, training=training))


def _counts(job: Job) -> tuple[int, int, float]:
    """Parameters without embeddings, tokens, and FLOPs of a run."""
    training, length = job.plan.training, job.plan.data.length
    tokens = (training.steps or 0) * training.batch_size * length
    return count_parameters(job.plan.model).other, tokens, training_flops(job.plan.model, length, tokens)


def _points(jobs: list[Job], outcomes: Mapping[str, Outcome]) -> dict[str, Point]:
    losses = {job: outcomes[job.key].loss for job in jobs}
    return {job.key: Point(*_counts(job), loss, _embedding(job)) for job, loss in losses.items() if loss is not None}


def _embedding(job: Job) -> int:
    return count_parameters(job.plan.model).embedding


def _predict(folder: StudyFolder, predicted: Interval, large: Job) -> Mapping[str, Any]:
    """Written once, before the run starts: a prediction must not be revised afterwards."""
    path = folder.path / PREDICTION
    if not path.exists():
        parameters, tokens, flops = _counts(large)
        facts: dict[str, Any] = {"run": large.key, "parameters": parameters, "embedding": _embedding(large)}
        facts |= {"tokens": tokens, "flops": flops, "loss": asdict(predicted)}
        write_text(path, json.dumps(facts, indent=1))
    prediction = read_json(path)
    log.info("predicted loss of %s: %s", large.key, Interval(**prediction["loss"]))
    return prediction
