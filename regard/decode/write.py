"""Writing token by token. Finished texts leave the batch, so that nobody waits for them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from regard.decode.base import State, Writer
from regard.decode.choose import Choose, check_scores, likeliest
from regard.parts.linear import Packable

SMALL = 2**20  # numbers in the largest matrix of a model that one thread writes with as fast as several


def write(
    model: Writer, state: State, prompt: Tensor, end: int | None, max_tokens: int, choose: Choose = likeliest
) -> list[list[int]]:
    """What is written after each row of `prompt` (all of one length), without the end token."""
    written: list[list[int]] = [[] for _ in range(len(prompt))]
    for rows, tokens in stream(model, state, prompt, end, max_tokens, choose):
        for row, token in zip(rows, tokens, strict=True):
            written[row].append(token)
    return written


def stream(
    model: Writer, state: State, prompt: Tensor, end: int | None, max_tokens: int, choose: Choose = likeliest
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The same as it comes: at each step the rows that are still being written, and their next tokens."""
    so_far = prompt.tolist()
    rows = list(range(len(prompt)))
    tokens = prompt
    small = writes_alone(model)
    for _ in range(max_tokens):
        with torch.inference_mode(), one_thread(small and tokens.numel() == 1):
            scores, state = model.step(tokens, state)
            check_scores(scores[:, -1])
            tokens = choose(scores[:, -1], [so_far[row] for row in rows])[:, None]
            chosen = tokens[:, 0].tolist()
            alive = [place for place, token in enumerate(chosen) if token != end]
            if len(alive) < len(rows):
                rows, chosen = [rows[place] for place in alive], [chosen[place] for place in alive]
                unfinished = torch.tensor(alive, dtype=torch.long, device=tokens.device)
                tokens, state = tokens[unfinished], state.select(unfinished)
        if not rows:
            return
        for row, token in zip(rows, chosen, strict=True):
            so_far[row].append(token)
        yield rows, chosen


@contextmanager
def one_thread(alone: bool) -> Iterator[None]:
    """One token is too little work to share: waking another thread takes longer than it saves."""
    before = torch.get_num_threads()
    if alone and before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def writes_alone(model: Writer) -> bool:
    """Whether the model is so small that one thread writes one token as fast as several."""
    largest = max((part.matrix().numel() for part in model.modules() if isinstance(part, Packable)), default=0)
    return largest <= SMALL


def greedy(model: Writer, state: State, rows: int, start: int, end: int, max_tokens: int) -> list[list[int]]:
    """Always the likeliest next token, after a start token."""
    return write(model, state, torch.full((rows, 1), start, device=model.device), end, max_tokens)
