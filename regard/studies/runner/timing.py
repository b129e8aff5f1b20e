"""How long a step takes, measured before a study begins, so that all its runs fit the time there is."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import torch

from regard.core.errors import ConfigError
from regard.recipes import Plan
from regard.recipes.training import Prepared
from regard.train import Loop, MemoryKeeper, evaluate
from regard.train.display import clock

STEPS = 4  # of which the first warms up
STARTING = 5.0  # seconds in which a process starts and reads its data
CHECKS = 4  # validations of a run
SLOWER = 1.15  # runs side by side share memory
SPARE = 0.95  # of the time a study has, for what comes between
FEWEST = 20  # steps that are worth a run


@dataclass(frozen=True)
class Pace:
    step: float  # seconds
    check: float  # seconds of one validation

    def run(self, steps: int) -> float:
        return STARTING + CHECKS * self.check + SLOWER * self.step * steps


def measure_pace(plan: Plan, ready: Prepared) -> Pace:
    """A few steps and a validation by the loop itself, on one thread as the study's runs will be."""
    torch.manual_seed(0)
    training = replace(plan.training, steps=STEPS, minutes=None, log_every=1, eval_every=STEPS + 1)
    with one_thread():
        keeper = MemoryKeeper()
        model = plan.model.build()
        Loop(model, plan.task, ready.train, training, keeper).run()
        clocked = [line["seconds"] for line in keeper.metrics if "loss" in line]
        began = time.monotonic()
        if ready.valid is not None:
            evaluate(model, plan.task, ready.valid)
        check = time.monotonic() - began
    taken = sorted(later - sooner for sooner, later in pairwise(clocked))
    return Pace(taken[len(taken) // 2], check)


def measure_paces(
    plans: Mapping[str, Plan], ready: Prepared, say: Callable[[str], None]
) -> dict[str, dict[str, float]]:
    """The pace of every plan, as a study's folder keeps it."""
    say(f"measuring the pace of {len(plans)} models")
    return {name: asdict(measure_pace(plan, ready)) for name, plan in plans.items()}


def steps_within(seconds: float, paces: Sequence[Pace]) -> int:
    """The number of steps for every run at which all of them together take so long on one core."""
    fixed = sum(pace.run(0) for pace in paces)
    steps = int((seconds - fixed) / sum(SLOWER * pace.step for pace in paces))
    if steps < FEWEST:
        least = sum(pace.run(FEWEST) for pace in paces)
        raise ConfigError(
            f"minutes: {len(paces)} runs of at least {FEWEST} steps take {clock(least)} on one core; "
            "give more minutes, fewer seeds, or choose changes with --only"
        )
    return steps


def estimate(seconds: Sequence[float], cores: int) -> str:
    """What a study will cost, told before it starts."""
    total = sum(seconds)
    each = f"{total / max(len(seconds), 1):.0f} s"
    return f"{len(seconds)} runs of about {each} on {cores} cores: about {clock(total / cores)}"


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
