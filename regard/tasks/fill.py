"""Fill: tell hidden words from those around them (Devlin et al., 2019)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.core.batches import Loss
from regard.core.errors import ConfigError, at_least
from regard.data.text.masked import MaskedBatch, MaskedWindows
from regard.data.text.pairs import pad
from regard.parts.attention.base import hide
from regard.text import MaskFilling, Tokenizer


@dataclass(frozen=True)
class FillMasked:
    share: float = 0.15  # of the words, which are to be told
    length: int | None = None  # tokens of a window that it is measured by; None: as many as it learns from
    unit = "tokens"

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ConfigError(f"share: must be above 0 and below 1, not {self.share}")
        at_least(3, length=self.length)

    def loss(self, model: nn.Module, batch: MaskedBatch) -> Loss:
        logits = model(batch.tokens, batch.valid, chosen=batch.chosen)
        answer = batch.answer.masked_fill(~batch.counted, -100)
        total = F.cross_entropy(logits.flatten(0, 1).float(), answer.flatten(), ignore_index=-100, reduction="sum")
        return Loss(total, batch.counted.sum())


@torch.inference_mode()
def fill_scores(model: nn.Module, data: MaskedWindows) -> dict[str, float]:
    """What the field cites, over one pass: the mean loss of a hidden word in nats, and the share that is right."""
    model.eval()
    nats, right, count = 0.0, 0, 0
    for batch in data.once():
        logits = model(batch.tokens, batch.valid, chosen=batch.chosen).float()[batch.counted]
        answer = batch.answer[batch.counted]
        nats += F.cross_entropy(logits, answer, reduction="sum").item()
        right += int((logits.argmax(-1) == answer).sum())
        count += len(answer)
    loss = nats / max(count, 1)
    return {"loss": loss, "perplexity": math.exp(min(loss, 700)), "accuracy": right / max(count, 1)}


class Guess(NamedTuple):
    word: str  # "##ing" goes on with the word before it
    chance: float


def fill(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Each text with its gaps filled: the surest first, so that the words of several gaps agree with each other."""
    gaps = MaskFilling(tokenizer)
    open_rows = _ask(gaps, texts)
    rows, places = [asked.row for asked in open_rows], [list(asked.gaps) for asked in open_rows]
    while unfilled := [asked for asked in open_rows if asked.gaps]:
        for asked, chances in zip(unfilled, _chances(model, gaps, unfilled), strict=True):
            best, tokens = chances.max(-1)
            surest = int(best.argmax())
            place = list(asked.gaps)[surest]
            asked.row[place] = int(tokens[surest])
            del asked.gaps[place]
    words = [[gaps.word(row[place - 1], row[place]) for place in own] for row, own in zip(rows, places, strict=True)]
    return [gaps.fill(text, own) for text, own in zip(texts, words, strict=True)]


def guesses(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], most: int) -> list[list[list[Guess]]]:
    """For each text and each of its gaps the likeliest words, likeliest first, with all gaps still open."""
    at_least(1, nbest=most)
    gaps = MaskFilling(tokenizer)
    asked = _ask(gaps, texts)
    found: list[list[list[Guess]]] = [[] for _ in texts]
    with_gaps = [number for number, one in enumerate(asked) if one.gaps]
    for number, chances in zip(with_gaps, _chances(model, gaps, [asked[n] for n in with_gaps]), strict=True):
        row = asked[number].row
        for (place, allowed), own in zip(asked[number].gaps.items(), chances, strict=True):
            best = own.topk(min(most, sum(allowed)))
            words = [gaps.label(row[place - 1], token) for token in best.indices.tolist()]
            found[number].append([Guess(*pair) for pair in zip(words, best.values.tolist(), strict=True)])
    return found


class Asked(NamedTuple):
    """A text as tokens, and the tokens that may stand in each of its gaps, by place."""

    row: list[int]
    gaps: dict[int, list[bool]]


def _ask(gaps: MaskFilling, texts: Sequence[str]) -> list[Asked]:
    mask, asked = gaps.tokenizer.mask, []
    for text, row in zip(texts, gaps.encode(texts), strict=True):
        places = [place for place, token in enumerate(row) if token == mask]
        asked.append(Asked(row, dict(zip(places, gaps.allowed(text), strict=True))))
    return asked


@torch.inference_mode()
def _chances(
    model: nn.Module, gaps: MaskFilling, asked: Sequence[Asked], batch: int = 64
) -> Iterator[Float[Tensor, "gap vocab"]]:
    """For each row of tokens and its gaps the probability of each word there, in the order asked."""
    model.eval()
    for first in range(0, len(asked), batch):
        some = asked[first : first + batch]
        tokens, valid = pad([one.row for one in some], gaps.tokenizer.pad)
        chosen, real = pad([list(one.gaps) for one in some], 0)
        logits = model(tokens, valid, chosen=chosen).float()[..., : gaps.tokenizer.vocab]
        for one, row, own in zip(some, logits, real, strict=True):
            allowed = torch.tensor(list(one.gaps.values()))
            yield hide(row[own], allowed[:, : row.shape[-1]]).softmax(-1)  # special tokens may lie beyond the model's
