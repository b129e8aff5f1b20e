"""Generating text: tokens are sampled one by one, and their text is yielded as soon as it is certain."""

from collections.abc import Iterator

import torch
from torch import nn

from regard.core.errors import ConfigError, at_least
from regard.decode import Sampling, stream, text_writer
from regard.decode.text_stream import StoppableText
from regard.text import Tokenizer

LAID_OUT = 4096  # tokens that memory is laid out for ahead; for more it grows as they come


def generate(
    model: nn.Module,
    tokenizer: Tokenizer,
    prompt: str | list[int],
    max_tokens: int,
    sampling: Sampling,
    stop: tuple[str, ...] = (),
) -> Iterator[str]:
    """The text that follows `prompt`, in pieces as they come; it ends before the first of the `stop` texts, and where
    the model has no more positions. A prompt may be given as tokens."""
    at_least(1, max_tokens=max_tokens)
    if "" in stop:
        raise ConfigError("stop: an empty text matches everywhere; give the text to stop before")
    tokens = tokenizer.prompt(prompt) if isinstance(prompt, str) else prompt
    room = room_after(model, len(tokens))
    return _pieces(model, tokenizer, tokens, max_tokens if room is None else min(max_tokens, room), sampling, stop)


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
    text = StoppableText(tokenizer, prompt, stop)
    start = torch.tensor([prompt], device=writer.device)
    for _, [token] in stream(writer, state, start, tokenizer.end, tokens, sampling.chooser()):
        if token in tokenizer.ends:
            break
        if piece := text.add(token):
            yield piece
        if text.stopped:
            return
    yield text.rest()
