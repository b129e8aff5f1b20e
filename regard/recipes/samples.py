"""Samples: a few words of what a model does by now, made the same way at every check, so that they can be compared."""

from textwrap import shorten

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.text.pairs import Pairs
from regard.decode import Sampling, greedy, source_writer
from regard.tasks.language import generate, room_after
from regard.text import Tokenizer
from regard.train import Sample

PROMPT, TOKENS = 16, 40  # that are gone on from, and that are written at most
SHOWN = 200  # characters of a source


def going_on(tokenizer: Tokenizer, tokens: np.ndarray, length: int) -> Sample:
    """What a writer makes of the first words of a text; a bar stands where its own begin."""
    [prompt] = tokenizer.decode([tokens[: max(1, min(PROMPT, length // 2))].tolist()])
    dice = Sampling(temperature=0.8, seed=0)

    def sample(model: nn.Module) -> str:
        return f"{prompt}│{''.join(generate(model, tokenizer, prompt, TOKENS, dice))}"

    return sample


def writing(tokenizer: Tokenizer, source: str, pairs: Pairs) -> Sample:
    """The first source of these pairs, and what is written for it."""
    first = next(iter(pairs.once()))
    batch = first.shard(0, first.rows)

    def sample(model: nn.Module) -> str:
        row = batch.to(_device(model))
        writer = source_writer(model)
        state = writer.init_state(row.source, row.source_valid, row.places)
        room = room_after(model, row.source.shape[1])
        longest = TOKENS if room is None else min(TOKENS, room)
        written = greedy(writer, state, 1, tokenizer.start, tokenizer.end, longest)
        return f"{shorten(source, SHOWN, placeholder=' …')}\n→ {tokenizer.decode(written)[0]}"

    return sample


def filling(tokenizer: Tokenizer, tokens: np.ndarray, length: int) -> Sample:
    """The first words of a text with the middle one hidden: in brackets what is put there, and what stood there."""
    text = tokens[: max(1, min(TOKENS, length - 2))].tolist()
    place, special = len(text) // 2, set(tokenizer.special)

    def sample(model: nn.Module) -> str:
        hidden = [tokenizer.start, *text[:place], tokenizer.mask, *text[place + 1 :], tokenizer.end]
        scores = model(_row(model, hidden), chosen=_row(model, [place + 1]))[0, 0]
        best = next(token for token in scores.argsort(descending=True).tolist() if token not in special)
        before, stood, put = tokenizer.decode([text[:place], text[: place + 1], [*text[:place], best]])
        [whole] = tokenizer.decode([[*text[:place], best, *text[place + 1 :]]])
        word, was = put.removeprefix(before), stood.removeprefix(before).strip()
        space = word[: len(word) - len(word.lstrip())]
        return f"{before}{space}[{word.lstrip()}]{whole.removeprefix(put)}\nhidden: {was}"

    return sample


def _row(model: nn.Module, numbers: list[int]) -> Tensor:
    return torch.tensor([numbers], device=_device(model))


def _device(model: nn.Module) -> str:
    return str(next(model.parameters()).device)
