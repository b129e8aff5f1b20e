"""What every run from pairs of texts shares: one tokenizer for both sides, rows of tokens, a model of its words."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from regard.core.errors import ConfigError
from regard.data.text.pairs import Pairs, source_trees
from regard.data.trees.conllu import Parse
from regard.models import FromSource, Model
from regard.recipes.encoded import own_tokenizer
from regard.recipes.plan import Plan
from regard.recipes.samples import writing
from regard.recipes.training import Prepared, Score
from regard.text import Tokenizer, TokenizerConfig

TextPair = tuple[str, str]
Row = tuple[list[int], list[int]]


def prepare_pairs(
    plan: Plan,
    texts: Mapping[str, Sequence[TextPair]],
    tokenizing: TokenizerConfig,
    score: Score,
    folder: Path,
    resume: bool,
    *,
    longest: int | None = None,
    parses: Mapping[str, Sequence[Parse]] = MappingProxyType({}),
) -> Prepared:
    """`texts` to train on and to measure by, under those names; of a source `longest` tokens are kept.

    `parses` are the trees of the sources, under the same names, where there are any.
    """
    tokenizer = own_tokenizer(folder, resume) or tokenizing.train(text for pair in texts["train"] for text in pair)
    rows = {name: _encode(texts[name], tokenizer, longest, name) for name in ("train", "valid")}
    trees = {name: source_trees([source for source, _ in texts[name]], parses.get(name), tokenizer) for name in rows}
    valid = Pairs(rows["valid"], tokenizer, plan.training.batch_size, trees=trees["valid"])
    return Prepared(
        plan=replace(plan, model=with_vocab(plan.model, tokenizer.vocab)),
        train=Pairs(rows["train"], tokenizer, plan.training.batch_size, plan.training.seed, trees["train"]),
        valid=valid,
        tokenizer=tokenizer,
        score=score,
        sample=writing(tokenizer, texts["valid"][0][0], valid),
    )


def with_vocab(model: Model, vocab: int) -> Model:
    if not isinstance(model, FromSource):
        known = ", ".join(kind.__name__ for kind in FromSource.__args__)
        raise ConfigError(f"model: {type(model).__name__} does not read one text and write another; choose of {known}")
    return replace(model, vocab=vocab)


def _encode(pairs: Sequence[TextPair], tokenizer: Tokenizer, longest: int | None, name: str) -> list[Row]:
    """Tokens of both sides; how many sources are cut is told on screen, each of them counted once."""
    texts = list(dict.fromkeys(source for source, _ in pairs))  # a source with several targets comes several times
    sources = dict(zip(texts, tokenizer.encode(texts), strict=True))
    longer = sum(longest is not None and len(tokens) > longest for tokens in sources.values())
    if longer:
        told = f"{name}: {longer:,} of {len(texts):,} sources have more than {longest} tokens: the rest is not read"
        print(told, file=sys.stderr)
    targets = tokenizer.encode([target for _, target in pairs])
    return [(sources[source][:longest], target) for (source, _), target in zip(pairs, targets, strict=True)]
