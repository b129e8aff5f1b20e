"""What every run from pairs of texts shares: one tokenizer for both sides, rows of tokens, a model of its words."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from regard.core.errors import ConfigError
from regard.data import Pairs
from regard.models import FromSource, Model
from regard.recipes.plan import Plan
from regard.recipes.training import Prepared, Scores
from regard.run import TOKENIZER, Run
from regard.text import Tokenizer, Tokenizing

TextPair = tuple[str, str]
Row = tuple[list[int], list[int]]


def prepare_pairs(
    plan: Plan,
    texts: Mapping[str, Sequence[TextPair]],
    tokenizing: Tokenizing,
    score: Callable[[Run], Scores],
    folder: Path,
    resume: bool,
    longest: int | None = None,
) -> Prepared:
    """`texts` to train on and to measure by, under those names; of a source `longest` tokens are kept."""
    if resume and (folder / TOKENIZER).exists():
        tokenizer = Tokenizer.load(folder / TOKENIZER)
    else:
        tokenizer = tokenizing.train(text for pair in texts["train"] for text in pair)
    rows = {name: _cut(_encode(texts[name], tokenizer), longest, name) for name in ("train", "valid")}
    return Prepared(
        plan=replace(plan, model=with_vocab(plan.model, tokenizer.vocab)),
        train=Pairs(rows["train"], tokenizer, plan.training.batch, plan.training.seed),
        valid=Pairs(rows["valid"], tokenizer, plan.training.batch),
        tokenizer=tokenizer,
        score=score,
    )


def with_vocab(model: Model, vocab: int) -> Model:
    if not isinstance(model, FromSource):
        known = ", ".join(kind.__name__ for kind in FromSource.__args__)
        raise ConfigError(f"model: {type(model).__name__} does not read one text and write another; choose of {known}")
    return replace(model, vocab=vocab)


def _encode(pairs: Sequence[TextPair], tokenizer: Tokenizer) -> list[Row]:
    sources = tokenizer.encode([source for source, _ in pairs])
    targets = tokenizer.encode([target for _, target in pairs])
    return list(zip(sources, targets, strict=True))


def _cut(rows: list[Row], longest: int | None, name: str) -> list[Row]:
    if longest is None:
        return rows
    longer = sum(len(source) > longest for source, _ in rows)
    if longer:
        told = f"{name}: {longer:,} of {len(rows):,} sources have more than {longest} tokens: the rest is not read"
        print(told, file=sys.stderr)
    return [(source[:longest], target) for source, target in rows]
