"""The report of an ablation: a table with the margin of error beside every difference, and a plot of the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from regard.core.config import to_yaml
from regard.core.errors import UserError
from regard.core.files import write_text
from regard.studies.ablate.changes import Change
from regard.studies.ablate.seed_noise import CONFIDENCE, Effect, SeedNoise, effect
from regard.studies.runner.folder import Outcome
from regard.studies.runner.learning_rate import LearningRate, learning_rate_blocks
from regard.studies.runner.plots import draw_effects
from regard.studies.runner.report import Block, CodeBlock, Figure, Heading, Paragraph, Table, command, write_report
from regard.tasks.plan import Plan

BASE = "base"


@dataclass(frozen=True)
class AblationResults:
    task: str
    data: Sequence[str]
    unit: str  # of the loss
    base: Plan  # with its budget
    changes: Sequence[Change]
    left_out: Mapping[str, str]
    outcomes: Mapping[str, Sequence[Outcome]]
    lr: LearningRate
    speeds: Mapping[str, float]  # seconds per step; empty where the budget does not depend on them

    @property
    def seeds(self) -> int:
        return min(len(outcomes) for outcomes in self.outcomes.values())


def report_ablation(folder: Path, results: AblationResults) -> None:
    base = results.outcomes[BASE]
    losses = tuple(outcome.loss for outcome in base if outcome.loss is not None)
    if len(losses) < 2:
        reason = next(outcome.diverged for outcome in base if outcome.diverged)
        raise UserError(f"{folder}: the base itself diverges ({reason}), so nothing can be compared with it")
    noise = SeedNoise(losses)
    effects = [effect(c.name, [o.loss for o in results.outcomes[c.name]], noise) for c in results.changes]
    effects.sort(key=lambda one: float("inf") if one.difference is None else one.difference, reverse=True)
    blocks = [command(), Paragraph(_summary(effects, noise, results)), *_figure(effects, noise, results)]
    blocks += [Heading("All changes"), _table(effects, noise, results), Paragraph(_method(results, noise))]
    blocks += _left_out(results) + _diverged(results)
    blocks += learning_rate_blocks(results.lr, "The best learning rate of the base, used by all changes.")
    blocks += [Heading("The base"), CodeBlock(to_yaml(results.base))]
    files = ", ".join(Path(file).name for file in results.data)
    write_text(folder / "effects.json", json.dumps(_as_json(effects, noise, results), indent=1) + "\n")
    write_report(folder, f"What each part is worth: {results.task}, {files}", blocks)


def _as_json(effects: Sequence[Effect], noise: SeedNoise, results: AblationResults) -> dict[str, Any]:
    base = {"losses": noise.losses, "mean": noise.mean, "std": noise.std}
    changes = {one.name: {**asdict(one), "verdict": one.verdict} for one in effects}
    return {"task": results.task, "steps": results.base.training.steps, "base": base, "changes": changes}


def _summary(effects: Sequence[Effect], noise: SeedNoise, results: AblationResults) -> str:
    verdicts: dict[str, list[str]] = {"diverges": [], "worse": [], "no effect": [], "better": []}
    for one in effects:
        verdicts[one.verdict.split(";")[0]].append(f"`{one.name}`")
    lists = " ".join(f"{verdict.capitalize()}: {', '.join(names)}." for verdict, names in verdicts.items() if names)
    return f"The base reaches a loss of **{noise.mean:.4f}** {results.unit} (std over seeds {noise.std:.4f}). {lists}"


def _figure(effects: Sequence[Effect], noise: SeedNoise, results: AblationResults) -> list[Block]:
    rows = [(e.name, [loss - noise.mean for loss in e.losses], e.margin) for e in effects if e.margin is not None]
    if not rows:
        return []
    caption = "Difference from the base: every seed (dots) and the mean (bars); grey: margin of error by seed noise."
    return [Figure("effects", draw_effects(rows, results.unit), caption)]


def _table(effects: Sequence[Effect], noise: SeedNoise, results: AblationResults) -> Table:
    changes = {change.name: change for change in results.changes}
    header = ["change", "what it does", "loss", "difference", "margin", "verdict", "why it is tested"]
    rows = [[BASE, "", f"{noise.mean:.4f} ± {noise.std:.4f}", "", "", "", ""]]
    for one in effects:
        std = f" ± {stdev(one.losses):.4f}" if len(one.losses) > 1 else ""
        loss = f"{fmean(one.losses):.4f}{std}" if one.losses else "–"
        numbers = ["–", "–"] if one.difference is None else [f"{one.difference:+.4f}", f"±{one.margin:.4f}"]
        change = changes[one.name]
        rows.append([one.name, change.what, loss, *numbers, one.verdict, change.why])
    if results.speeds:
        header.insert(5, "ms per step")
        for row in rows:
            row.insert(5, f"{1000 * results.speeds[row[0]]:.0f}")
    return Table(header, rows)


def _method(results: AblationResults, noise: SeedNoise) -> str:
    training = results.base.training
    equal = (
        f"every run takes {training.steps:,} steps of {training.batch_size} rows, whatever a step costs"
        if training.steps is not None
        else f"every run trains for {60 * (training.minutes or 0):.0f} s on one core, however many steps that is"
    )
    return (
        f"Equal budget: {equal}. Seeds: {results.seeds} per change, {len(noise.losses)} of the base. A difference "
        f"within its margin is called no effect: the margin is half the {CONFIDENCE:.0%} confidence interval of a "
        "difference of means, from the standard deviation over the seeds of the base, or of the change if that is "
        "larger. All changes use the base's settings: one that would win with its own learning rate may lose here. "
        "Of the changes without any effect, about one in twenty is reported as one."
    )


def _left_out(results: AblationResults) -> list[Block]:
    if not results.left_out:
        return []
    rows = [[name, reason] for name, reason in results.left_out.items()]
    return [Heading("Changes that were left out"), Table(["change", "reason"], rows)]


def _diverged(results: AblationResults) -> list[Block]:
    rows = [
        [f"{name}-{seed}", outcome.diverged]
        for name, outcomes in results.outcomes.items()
        for seed, outcome in enumerate(outcomes)
        if outcome.diverged
    ]
    return [Heading("Runs that diverged"), Table(["run", "how"], rows)] if rows else []
