"""Make a run from a plan: check everything, take the folder, train, score, write the card. One way for every task."""

import math
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from regard.core.batches import Batches
from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError
from regard.core.files import write_text
from regard.core.model import build_model
from regard.recipes.plan import Plan, describe
from regard.run import Run, load_run
from regard.store import CARD, TOKENIZER, RunFolder
from regard.store.loss_plot import plot_losses
from regard.text import Tokenizer
from regard.train import Loop, Ranks, Report, Sample, join_ranks

Scores = Mapping[str, float]
Score = Callable[[Run, float], Scores]  # of what was trained, on what it has not learned from; its loss is known there


@dataclass(frozen=True)
class Prepared:
    """Data that is ready to be trained on, and the plan with what only the data could tell, such as the vocabulary."""

    plan: Plan
    train: Batches
    valid: Batches | None
    tokenizer: Tokenizer | None
    score: Score
    keep: Callable[[], object] = lambda: None  # what else the folder should hold, once it is ours
    sample: Sample | None = None  # of what the model does by now, logged beside each check
    weights: Mapping[str, Tensor] = field(default_factory=dict)  # to begin from; what is not named begins at random


def make_run(
    prepare: Callable[[Ranks], AbstractContextManager[Prepared]],
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> Report:
    """Run a plan; the folder then holds all that `load` needs."""
    with join_ranks() as ranks, RunFolder(out) as folder, ExitStack() as stack:
        with ranks.first_only() as first:
            if first and not resume:  # before a corpus is read, which may take minutes
                folder.check_free(overwrite=overwrite, instead="go on with --resume, ")
        ready = stack.enter_context(prepare(ranks))
        plan = ready.plan
        _check_kinds(plan)
        torch.manual_seed(plan.training.seed)
        model = build_model(plan.model)
        model.load_state_dict(dict(ready.weights), strict=False)
        loop = Loop(model, plan.task, ready.train, plan.training, folder, ready.valid, ranks, sample=ready.sample)
        loop.rehearse()  # before an older run gives way
        with ranks.first_only() as first:
            if first:
                folder.open(resume=resume, overwrite=overwrite)
        if resume and not loop.resume() and ranks.first:
            print(f"{out}: holds no checkpoint, so the run starts from the beginning", file=sys.stderr)
        with ranks.first_only() as first:
            if first:
                folder.write_config(describe(plan, out))
                if ready.tokenizer is not None:
                    ready.tokenizer.save(out / TOKENIZER)
                ready.keep()
                if not loop.ended:  # what an earlier card says will no longer be true
                    (out / CARD).unlink(missing_ok=True)
        report = loop.run()
        _finish(ready, report, folder, ranks)
    return report


def _check_kinds(plan: Plan) -> None:
    """Refuse a part that could be trained but not be read again."""
    try:
        from_dict(Plan, to_dict(plan))
    except ConfigError as error:
        raise ConfigError(f"{error}; a part of your own must inherit from the one whose place it takes") from None


def _finish(ready: Prepared, report: Report, folder: RunFolder, ranks: Ranks) -> None:
    with ranks.first_only() as first:
        if not first:
            return
        if not report.steps and (folder.path / CARD).exists():
            print(f"{folder.path}: had already ended, at step {report.progress.step:,}", file=sys.stderr)
            return
        plot_losses(folder.path)
        if not report.stopped_by:
            best = report.progress.best
            scores = ready.score(load_run(folder.path), math.nan if best is None else best)
            folder.log(step=report.progress.step, **scores)
            told = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
            print(f"{folder.path}: {told} (see {CARD} there)", file=sys.stderr)
            write_text(folder.path / CARD, card(ready.plan, report, scores, folder.path))


def card(plan: Plan, report: Report, scores: Scores, out: Path) -> str:
    settings, progress = describe(plan, out), report.progress
    told = "\n".join(f"- {name}: {value:.4f}" for name, value in scores.items())
    return f"""# {type(plan.model).__name__}, {type(plan.task).__name__}

{told}
- best validation loss: {progress.best}, at step {progress.best_step:,} of {progress.step:,}
- data: {plan.data}{
        f'''
- began from: {plan.init}'''
        if plan.init
        else ""
    }
- trained for {progress.seconds:.0f} s on {settings["threads"]} threads, torch {settings["torch"]}, {progress.precision}
- seed {plan.training.seed}; steps skipped because their loss or gradient was not finite: {progress.skipped}

    {settings["command"]}
"""
