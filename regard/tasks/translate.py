"""Translate: a source text becomes a target text, for every model that reads one and writes the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from regard.core.errors import share
from regard.data import PairBatch, pad
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
        return target_loss(model, batch, self.smoothing if model.training else 0.0)


def target_loss(model: nn.Module, batch: PairBatch, smoothing: float) -> Loss:
    """How surprised a model is by the targets, each word after its source and the words before it."""
    logits = model(batch.source, batch.target, batch.source_valid)
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
    most_read: int | None = None,
) -> list[str]:
    """The likeliest target of each text, similar lengths together; of a text at most `most_read` tokens are read."""
    was_training = model.training
    model.eval()
    sources = [tokens[:most_read] for tokens in tokenizer.encode(texts)]
    order = sorted(range(len(texts)), key=lambda row: len(sources[row]))
    answers = [""] * len(texts)
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        source, valid = pad([[*sources[row], tokenizer.end] for row in rows], tokenizer.pad)
        with torch.inference_mode():
            state = model.begin(source, valid)  # type: ignore[operator]
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
