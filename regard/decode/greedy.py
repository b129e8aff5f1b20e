"""Greedy decoding: always the likeliest next token. Finished texts leave the batch."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.core.shapes import Logits, Tokens


@runtime_checkable
class State(Protocol):
    """What a model holds while it writes; rows can be chosen from it."""

    def select(self, rows: Tensor) -> "State": ...


@runtime_checkable
class Writer(Protocol):
    """Any model that writes: the scores after the given tokens, and the state that has read them."""

    def step(self, tokens: Tokens, state: State) -> tuple[Logits, State]: ...


@torch.inference_mode()
def greedy(model: Writer, state: State, rows: int, start: int, end: int, longest: int) -> list[list[int]]:
    """The tokens written for each row, without the start and the end token."""
    written: list[list[int]] = [[] for _ in range(rows)]
    writing = torch.arange(rows)
    tokens = torch.full((rows, 1), start)
    for _ in range(longest):
        logits, state = model.step(tokens, state)
        tokens = logits[:, -1:].argmax(-1)
        alive = (tokens[:, 0] != end).nonzero()[:, 0]
        if len(alive) < len(writing):
            writing, tokens, state = writing[alive], tokens[alive], state.select(alive)
        if not len(writing):
            break
        for row, token in zip(writing.tolist(), tokens[:, 0].tolist(), strict=True):
            written[row].append(token)
    return written
