"""Learning-rate search: the best learning rate of a plan, found before anything is compared with it.

A base that learns too slowly flatters every change that makes it learn faster, and a scaling law over sizes with badly
tuned rates is a law of their rates. The learning rate is doubled and halved until the best one has a worse neighbour on
either side; the result is the minimum of a parabola through these three, over the logarithm of the rate.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.core.errors import UserError
from regard.studies.runner.folder import Job, StudyFolder
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.report import Block, Heading, Paragraph, Table
from regard.tasks.plan import Plan

log = logging.getLogger(__name__)
SETTING = "training.optimiser.lr"
FACTORS = (0.5, 1.0, 2.0, 4.0)  # of the plan's own learning rate, tried first
MAX_FACTOR = 64.0  # from the plan's own learning rate, either way
SEED = 99  # used by no other run of a study


@dataclass(frozen=True)
class LearningRate:
    value: float
    losses: Mapping[float, float | None] = field(default_factory=dict)  # by learning rate; None: diverged

    def apply(self, plan: Plan) -> Plan:
        return with_learning_rate(plan, self.value)


def with_learning_rate(plan: Plan, lr: float) -> Plan:
    optimiser = replace(plan.training.optimiser, lr=lr)
    return replace(plan, training=replace(plan.training, optimiser=optimiser))


def search_runs(overrides: Mapping[str, Any] | None) -> int:
    """The minimum number of runs of a search: none if the learning rate is given."""
    return 0 if SETTING in (overrides or {}) else len(FACTORS)


def first_jobs(plan: Plan, overrides: Mapping[str, Any] | None) -> list[Job]:
    lr = plan.training.optimiser.lr
    return [_job(plan, lr * factor) for factor in FACTORS[: search_runs(overrides)]]


def find_learning_rate(
    folder: StudyFolder, plan: Plan, overrides: Mapping[str, Any] | None, processes: int | None
) -> LearningRate:
    """The best learning rate of a plan with its budget; the runs are kept in the folder like all others."""
    lr = plan.training.optimiser.lr
    jobs = first_jobs(plan, overrides)
    if not jobs:
        return LearningRate(lr)
    losses: dict[float, float | None] = {}
    while jobs:
        outcomes = run_jobs(folder, jobs, processes, eta=False)  # which would be that of these runs alone
        losses |= {job.plan.training.optimiser.lr: outcomes[job.key].loss for job in jobs}
        jobs = [_job(plan, other) for other in _neighbours(losses) if lr / MAX_FACTOR <= other <= lr * MAX_FACTOR]
    if all(loss is None for loss in losses.values()):
        raise UserError(f"{folder.path}: diverges at every learning rate from {min(losses):.3g} to {max(losses):.3g}")
    value = minimum(losses)
    log.info("learning rate %.3g, interpolated from %d runs", value, len(losses))
    return LearningRate(value, dict(sorted(losses.items())))


def _job(plan: Plan, lr: float) -> Job:
    training = replace(plan.training, seed=SEED)
    return Job(f"lr-{lr:.3g}", SEED, with_learning_rate(replace(plan, training=training), lr))


def _neighbours(losses: Mapping[float, float | None]) -> list[float]:
    """The next learning rate to try, if the best so far is at the edge."""
    best = min(losses, key=lambda lr: _loss(losses, lr))
    if best == min(losses) or _loss(losses, best) == math.inf:
        return [min(losses) / 2]
    return [best * 2] if best == max(losses) else []


def minimum(losses: Mapping[float, float | None]) -> float:
    """The minimum of a parabola through the best rate and its neighbours; the best itself if a neighbour diverged."""
    rates = sorted(losses)
    at = min(range(len(rates)), key=lambda i: _loss(losses, rates[i]))
    if not 0 < at < len(rates) - 1:
        return rates[at]
    below, best, above = (_loss(losses, lr) for lr in rates[at - 1 : at + 2])
    curvature = below - 2 * best + above
    if not 0 < curvature < math.inf:
        return rates[at]
    return float(rates[at] * 2 ** ((below - above) / (2 * curvature)))


def _loss(losses: Mapping[float, float | None], lr: float) -> float:
    loss = losses[lr]
    return math.inf if loss is None else loss


def learning_rate_blocks(lr: LearningRate, explanation: str) -> Sequence[Block]:
    """The search, for a report."""
    if not lr.losses:
        return []
    rows = [[f"{rate:.3g}", "diverged" if loss is None else f"{loss:.4f}"] for rate, loss in lr.losses.items()]
    text = f"{explanation} Found before all other runs, with a seed of its own: **{lr.value:.3g}**."
    return [Heading("Learning rate"), Paragraph(text), Table(["learning rate", "loss"], rows)]
