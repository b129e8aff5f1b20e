"""Train a translator on pairs: tokenizer, model, training, score, card, in one run folder."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from regard.core.errors import ConfigError
from regard.core.files import write_text
from regard.data import Pairs
from regard.models import RNN, Model, Transformer
from regard.recipes.plan import Plan, describe
from regard.run import TOKENIZER, Run, RunFolder, load_run
from regard.text import Characters, Tokenizer
from regard.train import Loop, Report, join_ranks
from regard.train.plot import plot_losses

TextPair = tuple[str, str]


def train_translator(plan: Plan, out: Path, *, resume: bool = False, overwrite: bool = False) -> Report:
    """Run the plan; the folder then holds all that `load` needs."""
    texts = plan.data.read()
    with join_ranks() as ranks, RunFolder(out) as folder:
        tokenizer = _tokenizer(texts["train"], out, resume)
        plan = replace(plan, model=with_vocab(plan.model, tokenizer.vocab))
        rows = {name: _encode(pairs, tokenizer) for name, pairs in texts.items()}
        train = Pairs(rows["train"], tokenizer, plan.training.batch, plan.training.seed)
        valid = Pairs(rows["valid"], tokenizer, plan.training.batch)
        torch.manual_seed(plan.training.seed)
        loop = Loop(plan.model.build(), plan.task, train, plan.training, folder, valid, ranks)
        with ranks.only_first() as first:
            if first:
                folder.open(resume=resume, overwrite=overwrite)
        if resume and not loop.resume() and ranks.first:
            print(f"{out}: holds no checkpoint, so the run starts from the beginning", file=sys.stderr)
        with ranks.only_first() as first:
            if first:
                folder.write_config(describe(plan, out))
                tokenizer.save(out / TOKENIZER)
        report = loop.run()
        with ranks.only_first() as first:
            if first and report.steps:
                plot_losses(out)
                if not report.stopped_by:
                    exact = share_right(load_run(out), texts["test"])
                    folder.log(step=report.progress.step, exact=exact)
                    write_text(out / "card.md", card(plan, report, exact, out))
            elif first:
                print(f"{out}: had already ended, at step {report.progress.step:,}", file=sys.stderr)
    return report


def with_vocab(model: Model, vocab: int) -> Model:
    if not isinstance(model, Transformer | RNN):
        raise ConfigError(f"model: {type(model).__name__} does not translate; choose Transformer or RNN")
    return replace(model, vocab=vocab)


def share_right(run: Run, pairs: Sequence[TextPair]) -> float:
    """The share of pairs whose target the model writes exactly."""
    answers = run.translate([source for source, _ in pairs])
    return sum(answer == target for answer, (_, target) in zip(answers, pairs, strict=True)) / len(pairs)


def card(plan: Plan, report: Report, exact: float, out: Path) -> str:
    settings = describe(plan, out)
    progress = report.progress
    return f"""# {type(plan.model).__name__} for {type(plan.task).__name__.lower()}

- data: {plan.data}
- held-out pairs written exactly: {exact:.1%}
- best validation loss: {progress.best} nats a token, at step {progress.best_step:,} of {progress.step:,}
- trained for {progress.seconds:.0f} s on {settings["threads"]} threads, torch {settings["torch"]}
- seed {plan.training.seed}
- steps skipped because their gradient was not finite: {progress.skipped}

    {settings["command"]}
"""


def _tokenizer(pairs: Sequence[TextPair], out: Path, resume: bool) -> Tokenizer:
    if resume and (out / TOKENIZER).exists():
        return Tokenizer.load(out / TOKENIZER)
    return Characters().train(text for pair in pairs for text in pair)


def _encode(pairs: Sequence[TextPair], tokenizer: Tokenizer) -> list[tuple[list[int], list[int]]]:
    sources = tokenizer.encode([source for source, _ in pairs])
    targets = tokenizer.encode([target for _, target in pairs])
    return list(zip(sources, targets, strict=True))
