"""Preparing pairs of texts: one tokenizer for both sides, rows of tokens, a model of that vocabulary."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.core.errors import ConfigError
from regard.data.text.pairs import Pairs, source_trees
from regard.data.trees.conllu import Parse
from regard.interop.base_model import BaseModel
from regard.models import FromSource, Model
from regard.tasks.base import Prepared, Run, Scores, Settings, Task, Workspace
from regard.tasks.seq2seq.sample import translation_sample
from regard.tasks.token_cache import existing_tokenizer
from regard.tasks.vocabulary import with_vocab
from regard.text import Tokenizer, train_tokenizer

TextPair = tuple[str, str]
Row = tuple[list[int], list[int]]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PairTexts:
    """Pairs under the names `train` and `valid`, and the trees of their sources under the same names."""

    pairs: Mapping[str, Sequence[TextPair]]
    max_length: int | None = None  # tokens read of a source
    trees: Mapping[str, Sequence[Parse]] = field(default_factory=dict)


def prepare_pairs(
    task: Task, plan: Settings, workspace: Workspace, texts: PairTexts, score: Callable[[Run, float], Scores]
) -> Prepared:
    check_reads_source(plan.model)
    pairs, training = texts.pairs, plan.training
    texts_of_both = (text for pair in pairs["train"] for text in pair)
    tokenizer = existing_tokenizer(workspace) or train_tokenizer(plan.data.tokenizer, texts_of_both)
    rows = {name: _encode(pairs[name], tokenizer, texts.max_length, name) for name in ("train", "valid")}
    trees = {name: source_trees(sources(pairs[name]), texts.trees.get(name), tokenizer) for name in rows}
    valid = Pairs(rows["valid"], tokenizer, training.batch_size, trees=trees["valid"])
    return Prepared(
        task=task,
        model=with_vocab(plan.model, tokenizer),
        train=Pairs(rows["train"], tokenizer, training.batch_size, training.seed, trees["train"]),
        valid=valid,
        tokenizer=tokenizer,
        score=score,
        sample=translation_sample(tokenizer, pairs["valid"][0][0], valid),
    )


def check_reads_source(model: Any) -> None:
    if not isinstance(model, FromSource):
        known = ", ".join(kind.__name__ for kind in FromSource.__args__)
        raise ConfigError(
            f"model: {type(model).__name__} does not read one text and write another; choose one of {known}"
        )


def reads_source(base: BaseModel) -> Model:
    """The config of a pre-trained model, which must read one text and write another."""
    if not isinstance(base.config, FromSource):
        known = ", ".join(kind.__name__ for kind in FromSource.__args__)
        raise ConfigError(f", which does not read one text and write another; start from one of {known}")
    return base.config


def sources(pairs: Sequence[TextPair]) -> list[str]:
    return [source for source, _ in pairs]


def _encode(pairs: Sequence[TextPair], tokenizer: Tokenizer, max_length: int | None, name: str) -> list[Row]:
    """Tokens of both sides; a note says how many sources are truncated, each of them counted once."""
    texts = list(dict.fromkeys(sources(pairs)))  # a source with several targets comes several times
    tokens = dict(zip(texts, tokenizer.encode(texts), strict=True))
    longer = sum(max_length is not None and len(row) > max_length for row in tokens.values())
    if longer:
        log.info(
            "%s: %s of %s sources have more than %s tokens: truncated",
            name,
            f"{longer:,}",
            f"{len(texts):,}",
            max_length,
        )
    targets = tokenizer.targets.encode([target for _, target in pairs])
    return [(tokens[source][:max_length], target) for (source, _), target in zip(pairs, targets, strict=True)]
