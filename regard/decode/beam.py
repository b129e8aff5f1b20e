"""Beam search: keep the few likeliest prefixes, and extend them all at every step (Sutskever et al., 2014).

A finished text is scored by its log-probability divided by a power of its length, or short ones would always win.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.errors import at_least
from regard.decode.base import State, Writer
from regard.decode.choose import check_scores
from regard.parts.attention.base import hide


@dataclass(frozen=True)
class Hypothesis:
    tokens: list[int]  # without start and end
    score: float  # log-probability, divided by length ** length_penalty


@dataclass(frozen=True)
class Beam:
    width: int = 5
    length_penalty: float = 1.0  # the power of the length that the log-probability is divided by

    def __post_init__(self) -> None:
        at_least(1, width=self.width)

    @torch.inference_mode()
    def search(
        self, model: Writer, state: State, rows: int, start: int, end: int, max_tokens: int
    ) -> list[list[Hypothesis]]:
        """For each row its best texts, best first. `state` has one row a text; it is forked here."""
        finished = [Finished(self.width) for _ in range(rows)]
        texts = list(range(rows))  # which of the rows are still being written
        device = model.device
        logits, state = model.step(torch.full((rows, 1), start, device=device), state)
        sums = torch.zeros(rows, 1, device=device)  # log-probability of each beginning; at first there is only one
        written = torch.empty(rows, 1, 0, dtype=torch.long, device=device)
        for length in range(1, max_tokens + 1):
            beams = sums.shape[1]
            check_scores(logits[:, -1])
            best, parent, token = _likeliest(logits[:, -1].float(), sums, 2 * self.width)
            ends = (token == end) | (length == max_tokens)
            for i, place in ends[:, : self.width].nonzero().tolist():  # the rest is only there to fill the beam
                body, last = written[i, parent[i, place]].tolist(), int(token[i, place])
                tokens = body if last == end else [*body, last]
                finished[texts[i]].add(Hypothesis(tokens, best[i, place].item() / length**self.length_penalty))
            sums, chosen = hide(best, ~ends).topk(min(self.width, best.shape[1]), -1)
            parent, token = parent.gather(1, chosen), token.gather(1, chosen)
            written = torch.cat([_rows(written, parent), token[:, :, None]], -1)
            ahead = sums[:, 0].tolist()
            open_ = [
                i for i, text in enumerate(texts) if finished[text].may_improve(ahead[i], length, self.length_penalty)
            ]
            if not open_ or length == max_tokens:
                break
            still = torch.tensor(open_, device=device)
            state = state.select((still[:, None] * beams + parent[still]).flatten(), parent.shape[1])
            texts, sums, written, token = [texts[i] for i in open_], sums[still], written[still], token[still]
            logits, state = model.step(token.view(-1, 1), state)
        return [done.best() for done in finished]


def _likeliest(scores: Tensor, sums: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest continuations of each text, twice as many as are kept since up to half of them end here.

    Their sums, the beams they go on from, and their tokens. Only the best scores of a beam are made probabilities: the
    whole vocabulary would be many times more. `scores` are used up, for as much new memory takes as long as the rest.
    """
    texts, beams = sums.shape
    top, token = scores.topk(min(most, scores.shape[-1]), -1)
    highest = top[:, :1]
    log_probabilities = (top - highest) - scores.sub_(highest).exp_().sum(-1, keepdim=True).log()
    top = log_probabilities.view(texts, beams, -1) + sums[:, :, None]
    best, spot = top.flatten(1).topk(min(most, beams * top.shape[-1]), -1)
    return best, spot // top.shape[-1], token.view(texts, -1).gather(1, spot)


class Finished:
    """The best finished texts of one row."""

    def __init__(self, most: int):
        self.most = most
        self.texts: list[Hypothesis] = []

    def add(self, text: Hypothesis) -> None:
        self.texts = sorted([*self.texts, text], key=lambda text: -text.score)[: self.most]

    def may_improve(self, best_sum: float, length: int, length_penalty: float) -> bool:
        """Whether the likeliest beginning beats the worst that is kept, if it goes on as it was so far.

        A guess, as in Hugging Face's search: a text that would grow surer later may be given up too early.
        """
        return len(self.texts) < self.most or best_sum / length**length_penalty > self.texts[-1].score

    def best(self) -> list[Hypothesis]:
        return self.texts


def _rows(written: Tensor, parent: Tensor) -> Tensor:
    return written.gather(1, parent[:, :, None].expand(-1, -1, written.shape[-1]))
