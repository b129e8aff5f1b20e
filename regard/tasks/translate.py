"""Translate: a source text becomes a target text, for every model that reads one and writes the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from regard.core.errors import share
from regard.data import PairBatch, pad, source_trees
from regard.data.tree_places import pad_trees
from regard.data.trees import Parse
from regard.decode import greedy
from regard.parts.taps import Heard, listen
from regard.tasks.base import Loss
from regard.text import Tokenizer


@dataclass(frozen=True)
class Translate:
    smoothing: float = 0.1  # share of the answer spread over all words (Szegedy et al., 2016)
    unit = "tokens"

    def __post_init__(self) -> None:
        share(smoothing=self.smoothing)

    def loss(self, model: nn.Module, batch: PairBatch) -> Loss:
        return self._cross_entropy(model, batch, self.smoothing if model.training else 0.0)

    def _cross_entropy(self, model: nn.Module, batch: PairBatch, smoothing: float) -> Loss:
        places = () if batch.places is None else (batch.places,)  # only some models know of them
        logits = model(batch.source, batch.target, batch.source_valid, *places)
        answer = batch.answer.masked_fill(~batch.answer_valid, -100)
        total = F.cross_entropy(
            logits.flatten(0, 1).float(),
            answer.flatten(),
            ignore_index=-100,
            reduction="sum",
            label_smoothing=smoothing,
        )
        return Loss(total, batch.answer_valid.sum())


def translate(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    longest: int = 256,
    batch: int = 128,
    trees: Sequence[Parse] | None = None,
) -> list[str]:
    """The likeliest target of each text, similar lengths together."""
    was_training = model.training
    model.eval()
    sources = tokenizer.encode(texts)
    hung = source_trees(texts, trees, tokenizer)
    order = sorted(range(len(texts)), key=lambda row: len(sources[row]))
    answers = [""] * len(texts)
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        source, valid = pad([[*sources[row], tokenizer.end] for row in rows], tokenizer.pad)
        places = () if hung is None else (pad_trees([hung[row] for row in rows]),)
        with torch.inference_mode():
            state = model.begin(source, valid, *places)  # type: ignore[operator]
        written = greedy(model, state, len(rows), tokenizer.start, tokenizer.end, longest)  # type: ignore[arg-type]
        for row, answer in zip(rows, tokenizer.decode(written), strict=True):
            answers[row] = answer
    model.train(was_training)
    return answers


def attention(model: nn.Module, tokenizer: Tokenizer, source: str, target: str) -> tuple[Heard, list[str], list[str]]:
    """What the model looked at while it read `source` and wrote `target`, with the tokens of both axes."""
    tokens = tokenizer.encode([source, target])
    read = torch.tensor([[*tokens[0], tokenizer.end]])
    written = torch.tensor([[tokenizer.start, *tokens[1]]])
    with torch.inference_mode(), listen(model.eval()) as heard:
        model(read, written)
    return heard, [*tokenizer.pieces(tokens[0]), "·"], [*tokenizer.pieces(tokens[1]), "·"]
