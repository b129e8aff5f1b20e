"""Targets of sources: how surprising they are, writing them, and what was looked at meanwhile. For every task whose
model reads one text and writes another."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.data.text.pairs import PairBatch, Pairs, pad, source_trees
from regard.data.trees.conllu import Parse
from regard.data.trees.tree_positions import pad_trees
from regard.decode import Beam, State, Writer, greedy, source_writer
from regard.parts.linear import packing
from regard.parts.taps import Heard, listen
from regard.text import Tokenizer

AT_ONCE = 384  # rows of a step: more are no faster on a processor
READ_AT_ONCE = 2**15  # tokens of sources, which bounds memory
SCORED_AT_ONCE = 128  # pairs: each has a score for every word of the vocabulary at each of its tokens
WORTH_PACKING = 8  # texts: fewer are written before their matrices would be packed


@dataclass(frozen=True)
class Written:
    text: str
    score: float | None = None  # log-probability for each token, where a beam was searched


def target_loss(model: nn.Module, batch: PairBatch, smoothing: float) -> Loss:
    """How surprised a model is by the targets, each word after its source and the words before it."""
    surprise = _surprise(model, batch, smoothing)
    return Loss(surprise.sum(), batch.answer_valid.sum())


def _surprise(model: nn.Module, batch: PairBatch, smoothing: float = 0.0) -> Tensor:
    """Nats of every answer, (batch, target); padding surprises nobody."""
    places = () if batch.places is None else (batch.places,)  # only some models know of them
    logits = model(batch.source, batch.target, batch.source_valid, *places)
    answer = batch.answer.masked_fill(~batch.answer_valid, -100)
    nats = F.cross_entropy(
        logits.flatten(0, 1).float(), answer.flatten(), ignore_index=-100, reduction="none", label_smoothing=smoothing
    )
    return nats.view_as(answer)


def write_targets(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    longest: int = 256,
    *,
    beam: Beam | None = None,
    most_read: int | None = None,
    trees: Sequence[Parse] | None = None,
) -> list[list[Written]]:
    """What is written for each text, best first: by `beam` its best few, without one the likeliest word after word.

    Similar lengths go together; of a text at most `most_read` tokens are read.
    """
    sources = [tokens[:most_read] for tokens in tokenizer.encode(texts)]
    hung = source_trees(texts, trees, tokenizer)
    order = sorted(range(len(texts)), key=lambda row: len(sources[row]))
    answers: list[list[Written]] = [[] for _ in texts]
    width, writer = beam.width if beam else 1, source_writer(model)
    at_once = max(AT_ONCE // width, 1)
    faster = packing(model, min(len(texts), at_once) * width) if len(texts) >= WORTH_PACKING else nullcontext()
    with _at_rest(model), faster:
        for rows in _together(order, sources, at_once):
            source, valid = pad([[*sources[row], tokenizer.end] for row in rows], tokenizer.pad)
            positions = None if hung is None else pad_trees([hung[row] for row in rows])
            state = writer.init_state(source, valid, positions)
            written = _write(writer, tokenizer, state, len(rows), longest, beam)
            for row, answer in zip(rows, written, strict=True):
                answers[row] = answer
    return answers


def _together(order: Sequence[int], sources: Sequence[Sequence[int]], most: int) -> Iterator[list[int]]:
    """Rows in an order of growing length, as many together as are fast and fit in memory."""
    rows: list[int] = []
    for row in order:
        if len(rows) == most or (len(rows) + 1) * len(sources[row]) > READ_AT_ONCE:
            if rows:
                yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _write(
    model: Writer, tokenizer: Tokenizer, state: State, rows: int, longest: int, beam: Beam | None
) -> list[list[Written]]:
    ends = tokenizer.start, tokenizer.end, longest
    if beam is None:
        tokens = greedy(model, state, rows, *ends)
        return [[Written(text)] for text in tokenizer.decode(tokens)]
    found = beam.search(model, state, rows, *ends)
    texts = iter(tokenizer.decode([one.tokens for best in found for one in best]))
    return [[Written(next(texts), one.score) for one in best] for best in found]


def score_targets(
    model: nn.Module,
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    trees: Sequence[Parse] | None = None,
) -> list[float]:
    """The log-probability that the model gives to the target of each pair, for each of its tokens and its end."""
    if not pairs:
        return []
    texts = [source for source, _ in pairs]
    rows = zip(tokenizer.encode(texts), tokenizer.encode([target for _, target in pairs]), strict=True)
    batches = Pairs(list(rows), tokenizer, SCORED_AT_ONCE, trees=source_trees(texts, trees, tokenizer))
    scores: list[float] = []
    with _at_rest(model):
        for batch in batches.once():
            nats = _surprise(model, batch).sum(1) / batch.answer_valid.sum(1)
            scores += (-nats).tolist()
    return scores


def attention(
    model: nn.Module, tokenizer: Tokenizer, source: str, target: str, tree: Parse | None = None
) -> tuple[Heard, list[str], list[str]]:
    """What the model looked at while it read `source` and wrote `target`, with the tokens of both axes."""
    tokens = tokenizer.encode([source, target])
    read = torch.tensor([[*tokens[0], tokenizer.end]])
    written = torch.tensor([[tokenizer.start, *tokens[1]]])
    hung = None if tree is None else source_trees([source], [tree], tokenizer)
    places = () if hung is None else (pad_trees(hung),)
    with _at_rest(model), listen(model) as heard:
        model(read, written, None, *places)
    return heard, [*tokenizer.pieces(tokens[0]), "·"], [*tokenizer.pieces(tokens[1]), "·"]


def align(
    model: nn.Module, tokenizer: Tokenizer, source: str, target: str, tree: Parse | None = None
) -> list[tuple[int, int]] | None:
    """Which word of the source each word of the target looked at most, as pairs of their numbers.

    The looks of all layers and heads are added up, and those of all pieces of a word. None: this model has no
    attention to the source.
    """
    heard = attention(model, tokenizer, source, target, tree)[0]
    looks = [pattern[0].sum(0) for name, pattern in heard.items() if ".cross." in name]
    if not looks:
        return None
    # The row that writes a token stands one before it, so rows and tokens of the target have the same numbers.
    weights = torch.stack(looks).sum(0)[:-1, :-1].float()
    table = torch.zeros(len(target.split()), len(source.split()))
    if not table.numel():  # a blank text has tokens perhaps, but no words
        return []
    of_target, of_source = (torch.tensor(_words_of(tokenizer, text)) for text in (target, source))
    table.index_put_((of_target[:, None], of_source), weights, accumulate=True)
    return [(read, word) for word, read in enumerate(table.argmax(1).tolist())]


def _words_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """The number of the word that each token belongs to; words are what white space parts."""
    words, number, inside = [], -1, False
    for character in text:
        number += not character.isspace() and not inside
        inside = not character.isspace()
        words.append(max(number, 0))
    return [words[min(max(end - 1, 0), len(words) - 1)] for _, end in tokenizer.spans([text])[0]]


@contextmanager
def _at_rest(model: nn.Module) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)
