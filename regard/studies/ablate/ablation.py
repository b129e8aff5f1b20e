"""Ablation: change one thing at a time, repeat with other seeds, and call an effect only what the noise cannot be."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from regard.core.config import override
from regard.core.errors import ConfigError, at_least, did_you_mean
from regard.core.machine import usable_cores
from regard.recipes import Plan
from regard.studies.ablate.base import TaskName, base_plan
from regard.studies.ablate.changes import CHANGES, Change, applicable
from regard.studies.ablate.report import Found, report_ablation
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.learning_rate import find_rate, first_tries, tries
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import CHECKS, SPARE, Pace, estimate, measure_paces, steps_within

BASE = "base"
MORE_SEEDS = 2  # for the base, whose spread is the measure of all others
TOO_SLOW = 6.0  # times the base's step: with as many steps such a change would take the time of all others


@dataclass(frozen=True)
class Ablation:
    """What is asked of an ablation; the same words in the same folder go on with it."""

    task: TaskName
    data: tuple[str, ...]
    valid: tuple[str, ...] = ()
    target: str | None = None
    minutes: float = 30.0
    seeds: int = 3
    budget: Literal["tokens", "time"] = "tokens"
    steps: int | None = None  # in place of minutes
    only: tuple[str, ...] = ()  # names of changes; none: all that the task can take
    settings: Mapping[str, Any] | None = None  # dotted changes of the base

    def __post_init__(self) -> None:
        at_least(1, seeds=self.seeds, steps=self.steps)
        if not 0 < self.minutes < 1e6:
            raise ConfigError(f"minutes: must be more than 0, not {self.minutes}")
        if self.steps is not None and self.budget == "time":
            raise ConfigError("steps: say how long each run is, and --budget time says the clock does; choose one")
        known = [change.name for change in CHANGES]
        for name in self.only:
            if name not in known:
                raise ConfigError(f"--only {name}: unknown change; {did_you_mean(name, known)}")


@dataclass(frozen=True)
class Variants:
    """The base and every change that it can take, by name; of the others, why not."""

    plans: dict[str, Plan]
    changes: tuple[Change, ...]
    left_out: dict[str, str]

    @staticmethod
    def of(base: Plan, ready: Plan, only: Sequence[str]) -> "Variants":
        """`ready` is the base once its data was read, with what only the data could tell."""
        base = replace(base, model=ready.model)
        plans, taken, left_out = {BASE: base}, [], {}
        for change in CHANGES:
            if only and change.name not in only:
                continue
            changed, why = applicable(base, change)
            if changed is None:
                left_out[change.name] = why
            else:
                plans[change.name] = changed
                taken.append(change)
        return Variants(plans, tuple(taken), left_out)

    def without(self, slow: Mapping[str, float]) -> "Variants":
        why = {
            name: f"its step takes {times:.0f} times the base's; ask for it with --only" for name, times in slow.items()
        }
        return Variants(
            {name: plan for name, plan in self.plans.items() if name not in slow},
            tuple(change for change in self.changes if change.name not in slow),
            {**self.left_out, **why},
        )

    def repeats(self, seeds: int) -> dict[str, int]:
        return {name: seeds + MORE_SEEDS if name == BASE else seeds for name in self.plans}


def ablate(asked: Ablation, out: Path, processes: int | None, say: Callable[[str], None]) -> None:
    with StudyFolder(out).open(asdict(asked)) as folder, tempfile.TemporaryDirectory() as place:
        cores = folder.settled("cores", lambda: processes or usable_cores())
        seconds = SPARE * 60 * asked.minutes * cores
        base = _base(asked, seconds)
        with prepared(base, Path(place) / "run") as ready:
            read = ready.plan
            variants = Variants.of(base, read, asked.only)
            paces = folder.settled("paces", lambda: measure_paces(variants.plans, ready, say))
        settled = folder.settled("settled", lambda: _settle(asked, seconds, variants, paces))
        slow, trial = settled.get("slow", {}), _budgeted(variants.plans[BASE], 0, BASE, settled)
        every = [*first_tries(trial, asked.settings), *_jobs(variants.without(slow), asked.seeds, settled)]
        if left := folder.waiting(every):
            say(estimate([_seconds(settled, paces, job) for job in left], processes or usable_cores()))
        rate = find_rate(folder, trial, asked.settings, processes, say)
        variants = Variants.of(rate.of(base), read, asked.only).without(slow)
        jobs = _jobs(variants, asked.seeds, settled)
        outcomes = _by_name(jobs, run_jobs(folder, jobs, processes, say))
        base = jobs[0].plan  # with its budget
        found = Found(asked, base, variants.changes, variants.left_out, settled, outcomes, rate)
        report_ablation(folder.path, found)
        say(f"wrote {out / 'report.html'} and {out / 'report.md'}")


def _base(asked: Ablation, seconds: float) -> Plan:
    runs = (len(asked.only) or len(CHANGES)) * asked.seeds + asked.seeds + MORE_SEEDS
    base = base_plan(asked.task, asked.data, asked.valid, asked.target, seconds / runs)
    return override(base, asked.settings or {})


def _settle(
    asked: Ablation, seconds: float, variants: Variants, measured: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """Equal steps for all, or equal minutes for all: as many as fit."""
    if asked.steps is not None:
        return {"steps": asked.steps}
    paces = {name: Pace(**pace) for name, pace in measured.items()}
    times = {name: pace.step / paces[BASE].step for name, pace in paces.items()}
    by_clock = asked.budget == "time" or asked.only
    slow = {} if by_clock else {name: ratio for name, ratio in times.items() if ratio > TOO_SLOW}
    repeats = variants.without(slow).repeats(asked.seeds)
    repeats[BASE] += tries(asked.settings)
    every = [paces[name] for name, count in repeats.items() for _ in range(count)]
    steps = steps_within(seconds, every)
    told = {"paces": measured, "slow": slow}
    if asked.budget == "tokens":
        return {"steps": steps, **told}
    fixed = sum(pace.run(0) for pace in every)
    return {"minutes": max(seconds - fixed, 1.0) / len(every) / 60, **told}


def _jobs(variants: Variants, seeds: int, settled: Mapping[str, Any]) -> list[Job]:
    """Seed by seed, so that a study that is stopped early has something of everything."""
    repeats = variants.repeats(seeds)
    return [
        Job(name, seed, _budgeted(plan, seed, name, settled))
        for seed in range(max(repeats.values()))
        for name, plan in variants.plans.items()
        if seed < repeats[name]
    ]


def _budgeted(plan: Plan, seed: int, name: str, settled: Mapping[str, Any]) -> Plan:
    steps = settled.get("steps")
    if steps is None:  # only the clock ends the run; checks come as often as its pace allows
        steps = 60 * settled["minutes"] / settled["paces"][name]["step"]
    training = replace(
        plan.training,
        steps=settled.get("steps"),
        minutes=settled.get("minutes"),
        eval_every=max(1, -(-int(steps) // CHECKS)),
        seed=seed,
    )
    return replace(plan, training=training)


def _seconds(settled: Mapping[str, Any], paces: Mapping[str, Mapping[str, float]], job: Job) -> float:
    pace = Pace(**paces.get(job.name, paces[BASE]))  # tries of rates are of the base
    return 60 * settled["minutes"] + pace.run(0) if "minutes" in settled else pace.run(settled["steps"])


def _by_name(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for job in jobs:
        found.setdefault(job.name, []).append(outcomes[job.key])
    return found
