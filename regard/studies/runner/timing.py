"""Timing: seconds per step, measured before a study starts so that all its runs fit the available time."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import torch

from regard.core.errors import ConfigError
from regard.tasks.base import Prepared
from regard.tasks.plan import Plan
from regard.train import Loop, MemoryKeeper, evaluate
from regard.train.display import clock

log = logging.getLogger(__name__)
STEPS = 4  # of which the first warms up
STARTUP = 5.0  # seconds in which a process starts and reads its data
EVALUATIONS = 4  # per run
SLOWDOWN = 1.15  # parallel runs share the memory bandwidth
USABLE = 0.95  # fraction of the time that runs may take
MIN_STEPS = 20  # below it a run is not worth making


@dataclass(frozen=True)
class Timing:
    step: float  # seconds
    evaluation: float  # seconds of one validation

    def run(self, steps: int) -> float:
        """Seconds of a whole run."""
        return STARTUP + EVALUATIONS * self.evaluation + SLOWDOWN * self.step * steps


def measure_timing(plan: Plan, ready: Prepared) -> Timing:
    """A few steps and a validation by the training loop itself, on one thread like the runs of a study."""
    torch.manual_seed(0)
    training = replace(plan.training, steps=STEPS, minutes=None, log_every=1, eval_every=STEPS + 1)
    keeper = MemoryKeeper()
    with one_thread():
        model = plan.model.build()
        Loop(model, plan.task, ready.train, training, keeper).run()
        stamps = [line["seconds"] for line in keeper.metrics if "loss" in line]
        start = time.monotonic()
        if ready.valid is not None:
            evaluate(model, plan.task, ready.valid)
        evaluation = time.monotonic() - start
    steps = sorted(later - sooner for sooner, later in pairwise(stamps))
    return Timing(steps[len(steps) // 2], evaluation)


def measure_timings(plans: Mapping[str, Plan], ready: Prepared) -> dict[str, dict[str, float]]:
    """The timing of every plan, as JSON."""
    log.info("timing %d models", len(plans))
    return {name: asdict(measure_timing(plan, ready)) for name, plan in plans.items()}


def steps_within(seconds: float, timings: Sequence[Timing]) -> int:
    """The number of steps per run with which all runs together take so long on one core."""
    fixed = sum(timing.run(0) for timing in timings)
    steps = int((seconds - fixed) / sum(SLOWDOWN * timing.step for timing in timings))
    if steps < MIN_STEPS:
        least = sum(timing.run(MIN_STEPS) for timing in timings)
        raise ConfigError(
            f"minutes: {len(timings)} runs of at least {MIN_STEPS} steps take {clock(least)} on one core; "
            "give more minutes, fewer seeds, or choose changes with --only"
        )
    return steps


def estimate(seconds: Sequence[float], cores: int) -> str:
    """What a study will take, for the user to read before it starts."""
    total = sum(seconds)
    mean = f"{total / max(len(seconds), 1):.0f} s"
    return f"{len(seconds)} runs of about {mean} on {cores} cores: about {clock(total / cores)}"


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
