"""Filling in masked words: the most certain first, so that the words of several masks agree with each other."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.errors import at_least
from regard.core.machine import device_of
from regard.data.text.pairs import pad
from regard.parts.attention.base import hide
from regard.text import MaskFilling, Tokenizer

ROWS = 64  # texts in a batch


class Candidate(NamedTuple):
    word: str  # "##ing" continues the word before it
    probability: float


class Query(NamedTuple):
    """A text as tokens, and the tokens that may stand at each of its masks, by place."""

    row: list[int]
    masks: dict[int, list[bool]]


def fill(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Each text with its masked words filled in."""
    gaps = MaskFilling(tokenizer)
    queries = _queries(gaps, texts)
    rows, places = [query.row for query in queries], [list(query.masks) for query in queries]
    while unfilled := [query for query in queries if query.masks]:
        for query, probabilities in zip(unfilled, _probabilities(model, gaps, unfilled), strict=True):
            best, tokens = probabilities.max(-1)
            surest = int(best.argmax())
            place = list(query.masks)[surest]
            query.row[place] = int(tokens[surest])
            del query.masks[place]
    words = [
        [gaps.word(row[at - 1], row[at]) for at in row_places] for row, row_places in zip(rows, places, strict=True)
    ]
    return [gaps.fill(text, row_places) for text, row_places in zip(texts, words, strict=True)]


def candidates(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], count: int) -> list[list[list[Candidate]]]:
    """For each text and each of its masks the most probable words, with all masks still open."""
    at_least(1, nbest=count)
    gaps = MaskFilling(tokenizer)
    queries = _queries(gaps, texts)
    results: list[list[list[Candidate]]] = [[] for _ in texts]
    masked = [number for number, query in enumerate(queries) if query.masks]
    for number, probabilities in zip(masked, _probabilities(model, gaps, [queries[n] for n in masked]), strict=True):
        row = queries[number].row
        for (place, allowed), of_mask in zip(queries[number].masks.items(), probabilities, strict=True):
            best = of_mask.topk(min(count, sum(allowed)))
            words = [gaps.label(row[place - 1], token) for token in best.indices.tolist()]
            results[number].append([Candidate(*pair) for pair in zip(words, best.values.tolist(), strict=True)])
    return results


def _queries(gaps: MaskFilling, texts: Sequence[str]) -> list[Query]:
    mask, queries = gaps.tokenizer.mask, []
    for text, row in zip(texts, gaps.encode(texts), strict=True):
        places = [place for place, token in enumerate(row) if token == mask]
        queries.append(Query(row, dict(zip(places, gaps.allowed(text), strict=True))))
    return queries


@torch.inference_mode()
def _probabilities(
    model: nn.Module, gaps: MaskFilling, queries: Sequence[Query]
) -> Iterator[Float[Tensor, "mask vocab"]]:
    """The probability of every token at each mask of each text."""
    model.eval()
    device = device_of(model)
    for first in range(0, len(queries), ROWS):
        some = queries[first : first + ROWS]
        tokens, valid = pad([query.row for query in some], gaps.tokenizer.pad)
        chosen, real = pad([list(query.masks) for query in some], 0)
        logits = model(tokens.to(device), valid.to(device), chosen=chosen.to(device)).float().cpu()
        for query, row, real_tokens in zip(some, logits[..., : gaps.tokenizer.vocab], real, strict=True):
            allowed = torch.tensor(list(query.masks.values()))
            yield hide(row[real_tokens], allowed[:, : row.shape[-1]]).softmax(
                -1
            )  # special tokens may lie beyond the model's
