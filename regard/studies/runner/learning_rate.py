"""The learning rate that a plan does best with, found before anything is compared with it.

A base that learns too slowly flatters every change by which it learns faster; and a law over sizes of which some have
the better rate is a law of rates. Rates are doubled and halved until the best has a worse one on either side; between
those three the lowest point of a parabola over the logarithm of the rate is taken.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.core.errors import UserError
from regard.recipes import Plan
from regard.studies.runner.folder import Job, StudyFolder
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.report import Block, Grid, Heading, Words

SETTING = "training.optimiser.lr"
TIMES = (0.5, 1.0, 2.0, 4.0)  # of the plan's own rate, to begin with
FARTHEST = 64.0  # times the plan's own, either way
SEED = 99  # of no run that is compared with another


@dataclass(frozen=True)
class Rate:
    value: float
    tried: Mapping[float, float | None] = field(default_factory=dict)  # losses; None: diverged

    def of(self, plan: Plan) -> Plan:
        return with_rate(plan, self.value)


def with_rate(plan: Plan, rate: float) -> Plan:
    optimiser = replace(plan.training.optimiser, lr=rate)
    return replace(plan, training=replace(plan.training, optimiser=optimiser))


def tries(settings: Mapping[str, Any] | None) -> int:
    """How many runs it takes at least: none where the settings give the rate."""
    return 0 if SETTING in (settings or {}) else len(TIMES)


def first_tries(plan: Plan, settings: Mapping[str, Any] | None) -> list[Job]:
    own = plan.training.optimiser.lr
    return [_job(plan, own * times) for times in TIMES[: tries(settings)]]


def find_rate(
    folder: StudyFolder,
    plan: Plan,
    settings: Mapping[str, Any] | None,
    processes: int | None,
    say: Callable[[str], None],
) -> Rate:
    """For a plan with its budget; the runs stand in the folder as all others do."""
    own = plan.training.optimiser.lr
    jobs = first_tries(plan, settings)
    if not jobs:
        return Rate(own)
    tried: dict[float, float | None] = {}

    def say_part(line: str) -> None:
        say(line.partition("; about ")[0])  # the time left would be that of these runs alone

    while jobs:
        outcomes = run_jobs(folder, jobs, processes, say_part)
        tried |= {job.plan.training.optimiser.lr: outcomes[job.key].loss for job in jobs}
        jobs = [_job(plan, rate) for rate in _beyond(tried) if own / FARTHEST <= rate <= own * FARTHEST]
    if all(loss is None for loss in tried.values()):
        raise UserError(f"{folder.path}: diverges at every rate from {min(tried):.3g} to {max(tried):.3g}")
    value = lowest(tried)
    say(f"rate {value:.3g}, the best of {len(tried)} that were tried and what lies between")
    return Rate(value, dict(sorted(tried.items())))


def _job(plan: Plan, rate: float) -> Job:
    training = replace(plan.training, seed=SEED)
    return Job(f"rate-{rate:.3g}", SEED, with_rate(replace(plan, training=training), rate))


def _beyond(tried: Mapping[float, float | None]) -> list[float]:
    """The next rate, where the best so far has nothing beside it."""
    best = min(tried, key=lambda rate: _loss(tried, rate))
    if best == min(tried) or _loss(tried, best) == math.inf:
        return [min(tried) / 2]
    return [best * 2] if best == max(tried) else []


def lowest(tried: Mapping[float, float | None]) -> float:
    """Where a parabola through the best and its neighbours is lowest; the best itself where one of them diverged."""
    rates = sorted(tried)
    at = min(range(len(rates)), key=lambda i: _loss(tried, rates[i]))
    if not 0 < at < len(rates) - 1:
        return rates[at]
    below, best, above = (_loss(tried, rate) for rate in rates[at - 1 : at + 2])
    bend = below - 2 * best + above
    if not 0 < bend < math.inf:
        return rates[at]
    return float(rates[at] * 2 ** ((below - above) / (2 * bend)))


def _loss(tried: Mapping[float, float | None], rate: float) -> float:
    loss = tried[rate]
    return math.inf if loss is None else loss


def rate_blocks(rate: Rate, told: str) -> Sequence[Block]:
    """What was tried, for a report."""
    if not rate.tried:
        return []
    rows = [[f"{one:.3g}", "diverged" if loss is None else f"{loss:.4f}"] for one, loss in rate.tried.items()]
    words = f"{told} Found before any other run, with a seed that none of them has: **{rate.value:.3g}**."
    return [Heading("The rate"), Words(words), Grid(["rate", "loss"], rows)]
