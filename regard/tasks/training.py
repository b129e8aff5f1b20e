"""Make a run from a plan: check everything, take the folder, train, score, write the card. One way for every task."""

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError
from regard.core.files import write_text
from regard.core.model import build_model
from regard.core.system import release_memory
from regard.store import CARD, TOKENIZER, RunFolder
from regard.store.loss_plot import plot_losses
from regard.tasks.base import Prepared, Workspace
from regard.tasks.baseline import Baseline, Scores, measure_baseline, no_baseline
from regard.tasks.plan import Plan, describe
from regard.tasks.pretrained import Pretrained, read_pretrained
from regard.tasks.run import load_run
from regard.train import Callback, Loop, Report, join_ranks

log = logging.getLogger(__name__)

FEW_SCORED = 50  # validation examples below which a score is a guess


def train(
    plan: Plan,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    scored: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Report:
    """Train a plan; the folder `out` then holds everything that `regard.load` needs.

    Without `scored` the run is measured by its validation loss alone, as studies do. Each of the `callbacks` is called
    with every line of metrics that is logged, a mapping of names to values.
    """
    out = Path(out)
    with join_ranks() as ranks, RunFolder(out, callbacks) as folder, ExitStack() as stack:
        with ranks.first_only() as first:
            if first and not resume:  # before a corpus is read, which may take minutes
                folder.check_free(overwrite=overwrite, instead="continue it with --resume, ")
        workspace = Workspace(out, ranks, resume)
        pretrained = read_pretrained(plan, workspace)
        if pretrained is not None:
            workspace = replace(workspace, tokenizer=pretrained.base.tokenizer)
        ready = stack.enter_context(plan.task.prepare(plan, workspace))
        if not scored:
            ready = replace(ready, score=lambda run, loss: {"loss": loss}, baseline=no_baseline)
        plan = replace(plan, task=ready.task, model=ready.model)
        _check_kinds(plan)
        model, keep_base = _model(plan, ready, pretrained, out)
        loop = Loop(model, plan.task, ready.train, plan.training, folder, ready.valid, ranks, ready.sample)
        loop.rehearse()  # before an older run is replaced
        with ranks.first_only() as first:
            if first:
                folder.open(resume=resume, overwrite=overwrite)
        if resume and not loop.resume() and ranks.first:
            log.info("%s: holds no checkpoint, so the run starts from the beginning", out)
        with ranks.first_only() as first:
            if first:
                _write_settings(plan, ready, folder, ended=loop.ended)
                keep_base()
        report = loop.run()
        del loop, model  # the run is loaded again to be scored: two models would need twice the memory
        release_memory()
        with ranks.first_only() as first:
            if first:
                _finish(plan, ready, report, folder)
    return report


def _model(
    plan: Plan, ready: Prepared, pretrained: Pretrained | None, out: Path
) -> tuple[nn.Module, Callable[[], None]]:
    """The model to be trained, and what then writes into its folder where it comes from."""
    torch.manual_seed(plan.training.seed)
    if pretrained is None:
        model = build_model(plan.model)
        model.load_state_dict(dict(ready.weights), strict=False)
        return model, lambda: None
    started = pretrained.start(plan.model)
    parameters = list(started.model.parameters())
    trained, total = sum(p.numel() for p in parameters if p.requires_grad), sum(p.numel() for p in parameters)
    if trained < total:
        log.info(f"{trained:,} of {total:,} parameters are trained ({trained / total:.2%})")
    sha256, init = started.sha256, str(plan.init)
    return started.model, lambda: pretrained.keep(out, init, sha256)


def _check_kinds(plan: Plan) -> None:
    """Refuse a part that could be trained but not read again."""
    try:
        from_dict(Plan, to_dict(plan))
    except ConfigError as error:
        raise ConfigError(f"{error}; a part of your own must inherit from the one whose place it takes") from None


def _write_settings(plan: Plan, ready: Prepared, folder: RunFolder, *, ended: bool) -> None:
    if ended and (folder.path / CARD).exists():  # scored too: its config holds what was fitted at the end
        return
    folder.write_config(describe(plan, folder.path))
    if ready.tokenizer is not None:
        ready.tokenizer.save(folder.path / TOKENIZER)
    ready.keep()
    if not ended:  # what an earlier card says will no longer be true
        (folder.path / CARD).unlink(missing_ok=True)


def _finish(plan: Plan, ready: Prepared, report: Report, folder: RunFolder) -> None:
    if not report.steps and (folder.path / CARD).exists():
        log.info("%s: had already ended, at step %s", folder.path, f"{report.progress.step:,}")
        return
    plot_losses(folder.path)
    if report.stopped_by:
        return
    best = report.progress.best
    if ready.calibrate is not None:
        plan = replace(plan, task=ready.calibrate(load_run(folder.path)))
        folder.write_config(describe(plan, folder.path))
    scores = ready.score(load_run(folder.path), math.nan if best is None else best)
    line = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
    _log_scores(f"{folder.path}: {line}", ready.scored_on)
    if plan.task.verb == "lm":  # how often was only estimated, from a usual speed
        log.info("the text was read %.3g times", report.progress.step / ready.train.steps_per_epoch)
    baseline = measure_baseline(ready.baseline, scores)
    beside = {} if baseline is None else {f"baseline_{baseline.score}": baseline.value}
    folder.log(step=report.progress.step, **scores, **beside)
    ready.refit()
    write_text(folder.path / CARD, card(plan, report, scores, folder.path, baseline))


def _log_scores(line: str, count: int) -> None:
    """The scores with the number of examples that they are of, if it is known."""
    log.info("%s%s (see %s there)", line, f", on {count:,} validation examples" if count else "", CARD)
    if 0 < count < FEW_SCORED:
        log.warning(
            "note: %d validation examples are too few for a reliable score; hold out at least %d", count, FEW_SCORED
        )


def card(plan: Plan, report: Report, scores: Scores, out: Path, baseline: Baseline | None = None) -> str:
    """What a run is, on what data, its scores and the command that made it, for a person."""
    settings, progress = describe(plan, out), report.progress
    lines = [f"# {type(plan.model).__name__}, {type(plan.task).__name__}", ""]
    lines += [f"- {name}: {value:.4f}" for name, value in scores.items()]
    lines += [] if baseline is None else [f"- baseline: {baseline}"]
    if progress.best_error is None:
        lines.append(f"- best validation loss: {progress.best}, at step {progress.best_step:,} of {progress.step:,}")
    else:
        step = f"the weights of step {progress.best_step:,} of {progress.step:,}"
        lines.append(f"- fewest validation errors: {progress.best_error:.4f}, by {step}; lowest loss {progress.best}")
    lines.append(f"- data: {plan.data}")
    if plan.init:
        how = f", with the adapter {plan.adapter}" if plan.adapter else ""
        lines.append(f"- started from: {plan.init}{how}")
    lines += [
        f"- trained for {progress.seconds:.0f} s on {settings['threads']} threads, torch {settings['torch']}, "
        f"{progress.precision}",
        f"- seed {plan.training.seed}; steps skipped because their loss or gradient was not finite: {progress.skipped}",
        "",
        f"    {settings['command']}",
        "",
    ]
    return "\n".join(lines)
