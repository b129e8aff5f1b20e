"""Scaling: small runs of several sizes and budgets, laws through them, and a larger run foretold before it is made."""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regard.core.config import override
from regard.core.errors import ConfigError, UserError, at_least
from regard.core.files import read_json, write_text
from regard.core.machine import usable_cores
from regard.data.text.corpus import Corpus
from regard.models import GPT
from regard.recipes import Plan
from regard.studies.ablate.base import base_plan
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.learning_rate import find_rate, first_tries, tries, with_rate
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import CHECKS, SPARE, Pace, estimate, measure_paces, steps_within
from regard.studies.scale.best_size import best_sizes
from regard.studies.scale.flops import count_parameters, training_flops
from regard.studies.scale.laws import FEWEST, Interval, Point, fit_joint
from regard.studies.scale.report import Scaled, plan_steps, report_scaling
from regard.train import AdamW
from regard.train.display import clock

SHARES = (0.125, 0.25, 0.5, 1.0)  # of the most steps
HEAD = 16  # width of a head, whatever the width of the model
# Width × layers of the runs on the grid, and last the one that is foretold; by core-seconds that there must be.
GRIDS = {
    4000.0: ("64x3", "96x4", "128x5", "192x6", "256x7"),
    600.0: ("32x2", "48x3", "64x4", "96x4", "128x5"),
    0.0: ("16x1", "32x2", "48x2", "64x3", "96x3"),
}
PREDICTION = "prediction.json"


@dataclass(frozen=True)
class Scaling:
    data: tuple[str, ...]
    valid: tuple[str, ...] = ()
    minutes: float = 30.0
    steps: int | None = None  # of the longest runs, in place of minutes
    sizes: tuple[str, ...] = ()  # such as 64x3; the last is foretold
    settings: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        at_least(8, steps=self.steps)
        if not 0 < self.minutes < 1e6:
            raise ConfigError(f"minutes: must be more than 0, not {self.minutes}")
        for size in self.sizes:
            read_size(size)
        if self.sizes and len(set(self.sizes)) < 4:
            raise ConfigError(f"sizes: needs three or more to fit and one to foretell, not {', '.join(self.sizes)}")


def read_size(text: str) -> tuple[int, int]:
    """64x3: a width of 64, three layers."""
    width, cross, layers = text.partition("x")
    if not (cross and width.isdecimal() and layers.isdecimal() and int(layers) and int(width)):
        raise ConfigError(f"--sizes {text}: must be width x layers, such as 64x3")
    if int(width) % HEAD and int(width) > HEAD:
        raise ConfigError(f"--sizes {text}: a width above {HEAD} must be a multiple of {HEAD}, the size of a head")
    return int(width), int(layers)


def scale(
    asked: Scaling, out: Path, processes: int | None, say: Callable[[str], None], budgets: Sequence[float] = ()
) -> None:
    """`budgets` are operations to name the best size for; a study that has ended may be asked for others."""
    for flops in budgets:
        if not 0 < flops < math.inf:
            raise ConfigError(f"--for-budget {flops:g}: must be a number of operations above 0, such as 1e15")
    with StudyFolder(out).open(asdict(asked)) as folder, tempfile.TemporaryDirectory() as place:
        cores = folder.settled("cores", lambda: processes or usable_cores())
        seconds = SPARE * 60 * asked.minutes * cores
        sizes = asked.sizes or next(grid for least, grid in GRIDS.items() if seconds >= least)
        base = _base(asked)
        with prepared(base, Path(place) / "run") as ready:
            base = replace(base, model=ready.plan.model)
            measured = folder.settled("paces", lambda: measure_paces(_sized(base, sizes), ready, say))
            epoch = ready.train.steps_per_epoch
        paces = {size: Pace(**pace) for size, pace in measured.items()}
        settled = folder.settled("settled", lambda: _settle(asked, seconds, cores, paces))
        trial = _job(sizes[0], _sized(base, sizes)[sizes[0]], settled["steps"]).plan
        *grid, large = _grid(_sized(base, sizes), settled["steps"])
        _tell_cost(folder, [*first_tries(trial, asked.settings), *grid], large, paces, processes or usable_cores(), say)
        rate = find_rate(folder, trial, asked.settings, processes, say)
        *grid, large = _grid(_sized(rate.of(base), sizes), settled["steps"])
        points = _points(grid, run_jobs(folder, grid, processes, say))
        if len(points) < FEWEST:
            raise UserError(f"{out}: only {len(points)} of {len(grid)} runs came to a loss, too few for a law")
        fit = fit_joint(list(points.values()))
        foretold = _foretell(folder, fit.predict(*_work(large)[:2]), large, say)
        checked = run_jobs(folder, [large], 1, say)[large.key]
        tokens_a_step = _work(large)[1] / plan_steps(large.key)
        best = best_sizes(fit, list(points.values()), budgets, epoch * tokens_a_step)
        work, beside = _work(large), _embedding(large)
        found = Scaled(
            asked.data, points, fit, foretold, large.key, work, beside, checked.loss, best, grid[0].plan, epoch, rate
        )
        report_scaling(folder.path, found)
        for one in best:
            say(str(one))
        say(f"wrote {out / 'report.html'} and {out / 'report.md'}")


def _base(asked: Scaling) -> Plan:
    """What all sizes share: the plain base without dropout, then what the settings say."""
    plan = override(base_plan("lm", asked.data, asked.valid, None, 60), {"model.dropout": 0.0})
    return override(plan, asked.settings or {})


def _sized(plan: Plan, sizes: Sequence[str]) -> dict[str, Plan]:
    """Depth and width together. The plan's rate is that of the first size; Adam's falls as layers grow wider."""
    if not isinstance(plan.model, GPT):
        raise ConfigError(
            f"model: laws are fitted of GPT, whose work can be counted, not of {type(plan.model).__name__}"
        )
    first, optimiser, found = read_size(sizes[0])[0], plan.training.optimiser, {}
    for size in sizes:
        width, layers = read_size(size)
        model = replace(plan.model, width=width, layers=layers, heads=max(1, width // HEAD))
        wide = first / width if isinstance(optimiser, AdamW) else 1.0
        found[size] = with_rate(replace(plan, model=model), optimiser.lr * wide)
    return found


def _settle(asked: Scaling, seconds: float, cores: int, paces: Mapping[str, Pace]) -> dict[str, Any]:
    if asked.steps is not None:
        return {"steps": asked.steps}
    *small, large = paces.values()
    # As runs of the most steps: those of the grid by their share of it; and all cores wait for the large one.
    weighed = [Pace(share * pace.step, pace.check) for pace in small for share in SHARES]
    return {"steps": steps_within(seconds, [*[small[0]] * tries(asked.settings), *weighed, *[large] * cores])}


def _tell_cost(
    folder: StudyFolder, grid: list[Job], large: Job, paces: Mapping[str, Pace], cores: int, say: Callable[[str], None]
) -> None:
    def seconds(job: Job) -> float:
        pace = paces.get(job.name.split("@")[0], next(iter(paces.values())))  # rates are tried on the smallest
        return pace.run(job.plan.training.steps or 0)

    if left := folder.waiting(grid):
        say(estimate([seconds(job) for job in left], cores))
    if folder.waiting([large]):
        say(f"then the run that is foretold, on one core: about {clock(seconds(large))}")


def _grid(plans: Mapping[str, Plan], steps: int) -> list[Job]:
    """Every size at every budget, the longest first; last the run that is foretold."""
    *small, large = plans
    budgets = [max(1, round(share * steps)) for share in sorted(SHARES, reverse=True)]
    jobs = [_job(size, plans[size], count) for count in budgets for size in reversed(small)]
    return [*jobs, _job(large, plans[large], steps)]


def _job(size: str, plan: Plan, steps: int) -> Job:
    training = replace(plan.training, steps=steps, eval_every=max(1, -(-steps // CHECKS)), seed=0)
    return Job(f"{size}@{steps}", 0, replace(plan, training=training))


def _work(job: Job) -> tuple[int, int, float]:
    """Parameters without embeddings, tokens, and operations of a run."""
    plan = job.plan
    assert isinstance(plan.model, GPT)
    assert isinstance(plan.data, Corpus)
    tokens = (plan.training.steps or 0) * plan.training.batch_size * plan.data.length
    return count_parameters(plan.model).rest, tokens, training_flops(plan.model, plan.data.length, tokens)


def _points(jobs: list[Job], outcomes: Mapping[str, Outcome]) -> dict[str, Point]:
    ended = {job: outcomes[job.key].loss for job in jobs}
    return {job.key: Point(*_work(job), loss, _embedding(job)) for job, loss in ended.items() if loss is not None}


def _embedding(job: Job) -> int:
    assert isinstance(job.plan.model, GPT)
    return count_parameters(job.plan.model).embedding


def _foretell(folder: StudyFolder, told: Interval, large: Job, say: Callable[[str], None]) -> Mapping[str, Any]:
    """Written before the run begins, and never again: a prediction is not to be mended afterwards."""
    place = folder.path / PREDICTION
    if not place.exists():
        parameters, tokens, flops = _work(large)
        facts: dict[str, Any] = {"run": large.key, "parameters": parameters, "embedding": _embedding(large)}
        facts |= {"tokens": tokens, "flops": flops, "loss": asdict(told)}
        write_text(place, json.dumps(facts, indent=1))
    written = read_json(place)
    say(f"foretold of {large.key}: loss {Interval(**written['loss'])}")
    return written
