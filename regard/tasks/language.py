"""Language modelling: tell the next token from those before it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, at_least
from regard.data.text.windows import WindowBatch
from regard.decode import Sampling, TextStream, stream, text_writer
from regard.text import Tokenizer

LAID_OUT = 4096  # tokens that memory is laid out for ahead; for more it grows as they come


@dataclass(frozen=True)
class LanguageModel:
    length: int | None = None  # tokens of a window that it is measured by; None: as many as it learns from
    unit = "tokens"

    def __post_init__(self) -> None:
        at_least(2, length=self.length)

    def loss(self, model: nn.Module, batch: WindowBatch) -> Loss:
        logits = model(batch.tokens)
        answer = batch.answer.masked_fill(~batch.answer_valid, -100)
        total = F.cross_entropy(logits.flatten(0, 1).float(), answer.flatten(), ignore_index=-100, reduction="sum")
        return Loss(total, batch.answer_valid.sum())


def language_scores(nats: float, tokens: int, characters: int) -> dict[str, float]:
    """What the field cites, from the mean loss of a token in nats."""
    return {
        "loss": nats,
        "perplexity": math.exp(min(nats, 700)),
        "bits_per_character": nats * tokens / max(characters, 1) / math.log(2),
    }


def count_characters(tokenizer: Tokenizer, tokens: np.ndarray) -> int:
    """That these tokens stand for; one that the tokenizer does not know is a character too."""
    return len(tokenizer.decode([tokens.tolist()])[0]) + tokenizer.count_unknown(tokens)


def generate(
    model: nn.Module,
    tokenizer: Tokenizer,
    prompt: str,
    tokens: int,
    sampling: Sampling,
    stop: tuple[str, ...] = (),
) -> Iterator[str]:
    """The text that follows `prompt`, in pieces as they come; it ends before the first of the `stop` texts, and where
    the model has no more places."""
    at_least(1, tokens=tokens)
    if "" in stop:
        raise ConfigError("stop: an empty text stands everywhere; name one to end before")
    given = tokenizer.prompt(prompt)
    room = room_after(model, len(given))
    return _pieces(model, tokenizer, given, tokens if room is None else min(tokens, room), sampling, stop)


def room_after(model: nn.Module, read: int) -> int | None:
    """How many tokens can be written after those that were read; None: any number. Learned positions have an end."""
    most = text_writer(model).max_positions
    if most is None:
        return None
    if read > most:
        raise ConfigError(f"prompt: has {read:,} tokens, and the model has {most:,} positions: shorten it")
    return most - read + 1  # the last one is written and not read


def _pieces(
    model: nn.Module, tokenizer: Tokenizer, prompt: list[int], tokens: int, sampling: Sampling, stop: tuple[str, ...]
) -> Iterator[str]:
    writer = text_writer(model.eval())
    state = writer.init_state(min(len(prompt) + tokens, LAID_OUT))
    text, pending = TextStream(tokenizer, prompt), ""
    held_back = max(map(len, stop), default=1) - 1  # what may become a stop text
    start = torch.tensor([prompt], device=writer.device)
    for _, [token] in stream(writer, state, start, tokenizer.end, tokens, sampling.chooser()):
        if token in tokenizer.ends:
            break
        pending += text.add(token)
        if (cut := first_stop(pending + text.rest(), stop)) is not None:
            yield (pending + text.rest())[:cut]
            return
        complete = len(pending) - held_back
        if complete > 0:
            yield pending[:complete]
            pending = pending[complete:]
    yield pending + text.rest()


def first_stop(text: str, stop: tuple[str, ...]) -> int | None:
    """Where the first of these texts begins."""
    return min((text.find(word) for word in stop if word in text), default=None)
