"""Generating text: tokens are sampled one by one, and their text is yielded as soon as it is certain."""

from collections.abc import Iterator

import torch
from torch import nn

from regard.core.errors import ConfigError, at_least
from regard.decode import Sampling, stream
from regard.parts.positions.learned import LearnedEncoding
from regard.text import Tokenizer

LAID_OUT = 4096  # tokens that memory is laid out for ahead; for more it grows as they come
CONTEXT = 8  # tokens of what was given that what follows is read with


def generate(
    model: nn.Module,
    tokenizer: Tokenizer,
    prompt: str,
    max_tokens: int,
    sampling: Sampling,
    stop: tuple[str, ...] = (),
) -> Iterator[str]:
    """The text that follows `prompt`, in pieces as they come; it ends before the first of the `stop` texts, and where
    the model has no more places."""
    at_least(1, max_tokens=max_tokens)
    if "" in stop:
        raise ConfigError("stop: an empty text stands everywhere; name one to end before")
    given = tokenizer.prompt(prompt)
    room = room_after(model, len(given))
    return _pieces(model, tokenizer, given, max_tokens if room is None else min(max_tokens, room), sampling, stop)


def room_after(model: nn.Module, read: int) -> int | None:
    """How many tokens can be written after those that were read; None: any number. A table of positions has an end."""
    places = min(
        (part.table.num_embeddings for part in model.modules() if isinstance(part, LearnedEncoding)), default=None
    )
    if places is None:
        return None
    if read > places:
        raise ConfigError(f"prompt: has {read:,} tokens, and the model has {places:,} places for tokens: shorten it")
    return places - read + 1  # the last one is written and not read


def _pieces(
    model: nn.Module, tokenizer: Tokenizer, given: list[int], tokens: int, sampling: Sampling, stop: tuple[str, ...]
) -> Iterator[str]:
    model.eval()
    device = next(model.parameters()).device
    state = model.init_state(min(len(given) + tokens, LAID_OUT))  # type: ignore[operator]
    written: list[int] = []
    shown = ""
    begun = torch.tensor([given], device=device)
    held_back = max(map(len, stop), default=1) - 1
    for _, [token] in stream(model, state, begun, tokenizer.end, tokens, sampling.chooser()):  # type: ignore[arg-type]
        if token in tokenizer.ends:
            break
        written.append(token)
        text = following(tokenizer, given, written)
        cut = min((text.find(word) for word in stop if word in text), default=-1)
        if cut >= 0:
            yield text[len(shown) : cut]
            return
        if tokenizer.is_byte(token):
            continue  # what a run of bytes says is known where it ends
        # Half a character, or what may become a stop text, is held back.
        sure = text.rstrip("\ufffd")[: max(0, len(text) - held_back)]
        if len(sure) > len(shown) and sure.startswith(shown):
            yield sure[len(shown) :]
            shown = sure
    yield following(tokenizer, given, written)[len(shown) :]


def following(tokenizer: Tokenizer, given: list[int], written: list[int]) -> str:
    """What was written after what was given: read by itself, some tokenizers drop the space that it begins with."""
    given = given[-CONTEXT:]
    [before, both, alone] = tokenizer.decode([given, [*given, *written], written])
    return both[len(before) :] if both.startswith(before) else alone
