"""An ablation in words: a table with the noise beside every difference, and a plot of the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from regard.core.config import to_yaml
from regard.core.errors import UserError
from regard.core.files import write_text
from regard.recipes import Plan
from regard.studies.ablate.changes import Change
from regard.studies.ablate.seed_noise import LEVEL, Effect, Noise, effect
from regard.studies.runner.folder import Outcome
from regard.studies.runner.learning_rate import Rate, rate_blocks
from regard.studies.runner.plots import draw_effects
from regard.studies.runner.report import Block, Grid, Heading, Lines, Picture, Words, command, write_report

if TYPE_CHECKING:
    from regard.studies.ablate.ablation import Ablation

UNITS = {
    "lm": "nats a token",
    "translate": "nats a token",
    "classify": "nats a text",
    "table": "nats, or squared error",
}


@dataclass(frozen=True)
class Found:
    asked: "Ablation"
    base: Plan
    changes: Sequence[Change]
    left_out: Mapping[str, str]
    settled: Mapping[str, Any]
    outcomes: Mapping[str, Sequence[Outcome]]
    rate: Rate


def report_ablation(folder: Path, found: Found) -> None:
    noise = Noise(tuple(o.loss for o in found.outcomes["base"] if o.loss is not None)) if _ended(found) else None
    if noise is None:
        why = next(o.diverged for o in found.outcomes["base"] if o.diverged)
        raise UserError(f"{folder}: the base itself diverges ({why}), so nothing can be compared with it")
    effects = [effect(c.name, [o.loss for o in found.outcomes[c.name]], noise) for c in found.changes]
    effects.sort(key=lambda one: float("inf") if one.difference is None else one.difference, reverse=True)
    blocks = [command(), Words(_summary(effects, noise, found)), *_picture(effects, noise, found)]
    blocks += [Heading("Every change"), _table(effects, noise, found), Words(_how_to_read(found, noise))]
    blocks += _left_out(found) + _diverged(found)
    blocks += rate_blocks(found.rate, "The rate that the base does best with, which all changes share.")
    blocks += [Heading("The base"), Lines(to_yaml(found.base))]
    what = ", ".join(Path(file).name for file in found.asked.data)
    write_text(folder / "effects.json", json.dumps(_for_programs(effects, noise, found), indent=1) + "\n")
    write_report(folder, f"What each part is worth: {found.asked.task}, {what}", blocks)


def _for_programs(effects: Sequence[Effect], noise: Noise, found: Found) -> dict[str, Any]:
    """The table of the report in figures."""
    base = {"losses": noise.losses, "mean": noise.mean, "deviation": noise.deviation}
    changes = {one.name: {**asdict(one), "verdict": one.verdict} for one in effects}
    return {"task": found.asked.task, "steps": found.settled.get("steps"), "base": base, "changes": changes}


def _ended(found: Found) -> bool:
    return sum(outcome.loss is not None for outcome in found.outcomes["base"]) >= 2


def _summary(effects: Sequence[Effect], noise: Noise, found: Found) -> str:
    kinds: dict[str, list[str]] = {"diverges": [], "worse": [], "no effect": [], "better": []}
    for one in effects:
        kinds[one.verdict.split(";")[0]].append(f"`{one.name}`")
    told = " ".join(f"{name.capitalize()}: {', '.join(names)}." for name, names in kinds.items() if names)
    unit = UNITS[found.asked.task]
    return f"The base ends at **{noise.mean:.4f}** {unit} (deviation of seeds {noise.deviation:.4f}). {told}"


def _picture(effects: Sequence[Effect], noise: Noise, found: Found) -> list[Block]:
    rows = [(e.name, [loss - noise.mean for loss in e.losses], e.band) for e in effects if e.band is not None]
    if not rows:
        return []
    told = "Difference from the base, seed by seed (dots) and in the mean (bars); grey is what seeds alone do."
    return [Picture("effects", draw_effects(rows, UNITS[found.asked.task]), told)]


def _table(effects: Sequence[Effect], noise: Noise, found: Found) -> Grid:
    paces = found.settled.get("paces", {})
    changes = {change.name: change for change in found.changes}
    heads = ["change", "what it does", "loss", "difference", "noise", "verdict", "why it is asked"]
    rows = [["base", "", f"{noise.mean:.4f} ± {noise.deviation:.4f}", "", "", "", ""]]
    for one in effects:
        spread = f" ± {stdev(one.losses):.4f}" if len(one.losses) > 1 else ""
        loss = f"{fmean(one.losses):.4f}{spread}" if one.losses else "–"
        told = ["–", "–"] if one.difference is None else [f"{one.difference:+.4f}", f"±{one.band:.4f}"]
        change = changes[one.name]
        rows.append([one.name, change.what, loss, *told, one.verdict, change.why])
    if paces:
        heads.insert(5, "ms a step")
        for row in rows:
            row.insert(5, f"{1000 * paces[row[0]]['step']:.0f}")
    return Grid(heads, rows)


def _how_to_read(found: Found, noise: Noise) -> str:
    settled, asked = found.settled, found.asked
    steps, batch = settled.get("steps"), found.base.training.batch_size
    equal = (
        f"every run takes {steps:,} steps of {batch} rows, whatever they cost"
        if steps is not None
        else f"every run trains for {60 * settled['minutes']:.0f} s on one core, however many steps that is"
    )
    return (
        f"Equal budget: {equal}. Seeds: {asked.seeds} a change, {len(noise.losses)} of the base. "
        f"A difference inside its noise is called no effect: the noise is the {LEVEL:.0%} interval of a difference of "
        "means, from the spread of the base's seeds or of the change's own where that is larger. The settings are the "
        "base's for every change; what would win with a rate of its own may lose here. With many changes, about one in "
        "twenty without any effect is called one."
    )


def _left_out(found: Found) -> list[Block]:
    if not found.left_out:
        return []
    return [
        Heading("What this base cannot take"),
        Grid(["change", "why"], [[name, why] for name, why in found.left_out.items()]),
    ]


def _diverged(found: Found) -> list[Block]:
    rows = [
        [f"{name}-{seed}", outcome.diverged]
        for name, outcomes in found.outcomes.items()
        for seed, outcome in enumerate(outcomes)
        if outcome.diverged
    ]
    return [Heading("Runs that diverged"), Grid(["run", "how"], rows)] if rows else []
