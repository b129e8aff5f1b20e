"""Writing targets for sources, by greedy or beam search, many at a time."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from regard.core.machine import device_of
from regard.data.text.pairs import pad, source_trees
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.decode import Beam, State, Writer, greedy, source_writer
from regard.parts.linear import packing
from regard.text import Tokenizer
from regard.train.evaluate import evaluation_mode

ROWS = 384  # written together: more are no faster on a CPU
READ_TOKENS = 2**15  # tokens of sources read together, which bounds memory
WORTH_PACKING = 8  # texts: packing the matrices takes longer than writing fewer


@dataclass(frozen=True)
class Written:
    text: str
    score: float | None = None  # mean log-probability of a token, where a beam was searched


def write_targets(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    max_tokens: int = 256,
    *,
    beam: Beam | None = None,
    max_length: int | None = None,
    trees: Sequence[Parse] | None = None,
) -> list[list[Written]]:
    """The targets of each text, best first: the hypotheses of a beam, or the one of greedy search.

    Texts of similar length are read together; of each text at most `max_length` tokens are read.
    """
    sources, device = [tokens[:max_length] for tokens in tokenizer.encode(texts)], device_of(model)
    token_trees = source_trees(texts, trees, tokenizer)
    ascending = sorted(range(len(texts)), key=lambda row: len(sources[row]))
    answers: list[list[Written]] = [[] for _ in texts]
    width, writer = beam.width if beam else 1, source_writer(model)
    at_once = max(ROWS // width, 1)
    faster = packing(model, min(len(texts), at_once) * width) if len(texts) >= WORTH_PACKING else nullcontext()
    with evaluation_mode(model), torch.inference_mode(), faster:
        for rows in _groups(ascending, sources, at_once):
            source, valid = pad([[*sources[row], tokenizer.end] for row in rows], tokenizer.pad)
            positions = None if token_trees is None else pad_trees([token_trees[row] for row in rows]).to(device)
            state = writer.init_state(source.to(device), valid.to(device), positions)
            written = _write(writer, tokenizer, state, len(rows), max_tokens, beam)
            for row, answer in zip(rows, written, strict=True):
                answers[row] = answer
    return answers


def _groups(ascending: Sequence[int], sources: Sequence[Sequence[int]], most: int) -> Iterator[list[int]]:
    """Rows in order of length, in groups that are fast and fit in memory."""
    rows: list[int] = []
    for row in ascending:
        if len(rows) == most or (len(rows) + 1) * len(sources[row]) > READ_TOKENS:
            if rows:
                yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _write(
    model: Writer, tokenizer: Tokenizer, state: State, rows: int, max_tokens: int, beam: Beam | None
) -> list[list[Written]]:
    ends = tokenizer.start, tokenizer.end, max_tokens
    if beam is None:
        tokens = greedy(model, state, rows, *ends)
        return [[Written(text)] for text in tokenizer.targets.decode(tokens)]
    hypotheses = beam.search(model, state, rows, *ends)
    texts = iter(tokenizer.targets.decode([one.tokens for best in hypotheses for one in best]))
    return [[Written(next(texts), one.score) for one in best] for best in hypotheses]
