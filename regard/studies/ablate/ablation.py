"""Ablation: change one thing at a time, repeat with other seeds, and report only effects beyond the seed noise."""

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from regard.core.config import override
from regard.core.errors import ConfigError, at_least
from regard.core.machine import usable_cores
from regard.studies.ablate.base import base_plan
from regard.studies.ablate.changes import Change, applicable, choose_changes
from regard.studies.ablate.report import BASE, AblationResults, report_ablation
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.learning_rate import find_learning_rate, first_jobs, search_runs
from regard.studies.runner.pool import run_jobs
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import EVALUATIONS, USABLE, Timing, estimate, measure_timings, steps_within
from regard.tasks.plan import Plan

log = logging.getLogger(__name__)
EXTRA_SEEDS = 2  # of the base, whose standard deviation every change is compared with
TOO_SLOW = 6.0  # times the base's step: at equal steps such a change would take the time of all others


@dataclass(frozen=True)
class Ablation:
    """The settings of an ablation; the same settings in the same folder resume it."""

    task: str
    data: tuple[str, ...]
    valid: tuple[str, ...] = ()
    target: str | None = None
    minutes: float = 30.0
    seeds: int = 3
    budget: Literal["tokens", "time"] = "tokens"
    steps: int | None = None  # instead of minutes
    only: tuple[str, ...] = ()  # names of changes; empty: all that apply to the task
    overrides: Mapping[str, Any] | None = None  # dotted settings of the base

    def __post_init__(self) -> None:
        at_least(1, seeds=self.seeds, steps=self.steps)
        if not 0 < self.minutes < 1e6:
            raise ConfigError(f"minutes: must be more than 0, not {self.minutes}")
        if self.steps is not None and self.budget == "time":
            raise ConfigError("steps: fixes the length of a run, and so does --budget time; choose one of them")
        choose_changes(self.only)


@dataclass(frozen=True)
class Variants:
    """The base and every change that applies to it, by name; and why the others do not."""

    plans: dict[str, Plan]
    changes: tuple[Change, ...]
    left_out: dict[str, str]

    @staticmethod
    def of(base: Plan, only: Sequence[str]) -> "Variants":
        """`base` must know what follows from its data, such as the vocabulary."""
        plans, changes, left_out = {BASE: base}, [], {}
        for change in choose_changes(only):
            changed, reason = applicable(base, change)
            if changed is None:
                left_out[change.name] = reason
            else:
                plans[change.name] = changed
                changes.append(change)
        return Variants(plans, tuple(changes), left_out)

    def without(self, slow: Mapping[str, float]) -> "Variants":
        reasons = {
            name: f"a step takes {ratio:.0f} times as long as the base's; request it with --only"
            for name, ratio in slow.items()
        }
        return Variants(
            {name: plan for name, plan in self.plans.items() if name not in slow},
            tuple(change for change in self.changes if change.name not in slow),
            {**self.left_out, **reasons},
        )

    def seeds(self, seeds: int) -> dict[str, int]:
        return {name: seeds + EXTRA_SEEDS if name == BASE else seeds for name in self.plans}


@dataclass(frozen=True)
class Budget:
    """The length of every run: steps, or minutes of training."""

    steps: int | None = None
    minutes: float | None = None
    slow: Mapping[str, float] = field(default_factory=dict)  # changes left out: their step relative to the base's

    def apply(self, plan: Plan, seed: int, timing: Timing) -> Plan:
        steps = self.steps
        if steps is None:  # the clock ends the run; evaluate as often as its speed allows
            steps = int(60 * (self.minutes or 0) / timing.step)
        every = max(1, -(-steps // EVALUATIONS))
        training = replace(plan.training, steps=self.steps, minutes=self.minutes, eval_every=every, seed=seed)
        return replace(plan, training=training)

    def seconds(self, timing: Timing) -> float:
        """Of one run."""
        return timing.run(self.steps or 0) + 60 * (self.minutes or 0)


def study_ablation(study: Ablation, out: Path, processes: int | None) -> None:
    with StudyFolder(out).open(asdict(study)) as folder, tempfile.TemporaryDirectory() as scratch:
        cores = folder.cached("cores", lambda: processes or usable_cores())
        seconds = USABLE * 60 * study.minutes * cores
        base = _base(study, seconds)
        with prepared(base, Path(scratch) / "run") as ready:
            base = replace(base, model=ready.model)
            variants = Variants.of(base, study.only)
            measured = folder.cached("timings", lambda: measure_timings(variants.plans, ready))
        timings = {name: Timing(**timing) for name, timing in measured.items()}
        budget = Budget(**folder.cached("budget", lambda: asdict(_budget(study, seconds, variants, timings))))
        variants = variants.without(budget.slow)
        trial = budget.apply(base, 0, timings[BASE])
        jobs = [*first_jobs(trial, study.overrides), *_jobs(variants, study.seeds, budget, timings)]
        if pending := folder.pending(jobs):
            each = [budget.seconds(timings.get(job.name, timings[BASE])) for job in pending]
            log.info(estimate(each, processes or usable_cores()))
        lr = find_learning_rate(folder, trial, study.overrides, processes)
        variants = Variants.of(lr.apply(base), study.only).without(budget.slow)
        jobs = _jobs(variants, study.seeds, budget, timings)
        outcomes = _by_name(jobs, run_jobs(folder, jobs, processes))
        speeds = {name: timing.step for name, timing in timings.items()} if study.steps is None else {}
        results = AblationResults(
            task=study.task,
            data=study.data,
            unit=base.task.loss_unit(base.model),
            base=jobs[0].plan,
            changes=variants.changes,
            left_out=variants.left_out,
            outcomes=outcomes,
            lr=lr,
            speeds=speeds,
        )
        report_ablation(folder.path, results)
        log.info("wrote %s and %s", out / "report.html", out / "report.md")


def _base(study: Ablation, seconds: float) -> Plan:
    runs = len(choose_changes(study.only)) * study.seeds + study.seeds + EXTRA_SEEDS
    base = base_plan(study.task, study.data, study.valid, study.target, seconds / runs)
    return override(base, study.overrides or {})


def _budget(study: Ablation, seconds: float, variants: Variants, timings: Mapping[str, Timing]) -> Budget:
    """Equal steps or equal minutes for all runs: as many as fit the time."""
    if study.steps is not None:
        return Budget(steps=study.steps)
    ratios = {name: timing.step / timings[BASE].step for name, timing in timings.items()}
    keep_all = study.budget == "time" or study.only
    slow = {} if keep_all else {name: ratio for name, ratio in ratios.items() if ratio > TOO_SLOW}
    seeds = variants.without(slow).seeds(study.seeds)
    seeds[BASE] += search_runs(study.overrides)
    runs = [timings[name] for name, count in seeds.items() for _ in range(count)]
    steps = steps_within(seconds, runs)  # also where the clock ends runs: it refuses a time that is too short
    if study.budget == "tokens":
        return Budget(steps=steps, slow=slow)
    fixed = sum(timing.run(0) for timing in runs)
    return Budget(minutes=max(seconds - fixed, 1.0) / len(runs) / 60, slow=slow)


def _jobs(variants: Variants, seeds: int, budget: Budget, timings: Mapping[str, Timing]) -> list[Job]:
    """Seed by seed, so that a study that is stopped early has runs of every change."""
    counts = variants.seeds(seeds)
    return [
        Job(name, seed, budget.apply(plan, seed, timings[name]))
        for seed in range(max(counts.values()))
        for name, plan in variants.plans.items()
        if seed < counts[name]
    ]


def _by_name(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> dict[str, list[Outcome]]:
    by_name: dict[str, list[Outcome]] = {}
    for job in jobs:
        by_name.setdefault(job.name, []).append(outcomes[job.key])
    return by_name
