"""A completion: one continuation of a prompt, from its tokens to the text that a client receives."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.decode import Sampling
from regard.decode.choose import COLD
from regard.decode.text_stream import StoppableText
from regard.serve.messages import Finish, Generate, Piece, TokenScore
from regard.text import Tokenizer


class Completion:
    def __init__(self, job: Generate, index: int, prompt: list[int], room: int, tokenizer: Tokenizer):
        self.job, self.index, self.prompt, self.tokenizer = job, index, prompt, tokenizer
        self.writing = job.writing
        self.room = room  # tokens that may be written
        self.written: list[int] = []
        self.finish: Finish | None = None
        self.attempts = 0  # at writing it in a batch that failed
        self._text = StoppableText(tokenizer, prompt, self.writing.stop)
        self._scores: list[TokenScore] = []
        self._last_prompt_scores: Tensor | None = None
        self._sent = 0  # tokens
        self._choose = self._sampling().chooser()

    def _sampling(self) -> Sampling:
        how = self.writing
        seed = None if how.seed is None else (how.seed + self.index) % 2**63
        top_p = how.top_p if how.top_p is not None and how.top_p < 1 else None
        return Sampling(how.temperature, how.top_k, top_p, how.min_p, how.repetition_penalty, seed)

    @property
    def client(self) -> str:
        return self.job.client

    @property
    def tokens(self) -> list[int]:
        return [*self.prompt, *self.written]

    @property
    def prompt_length(self) -> int:
        """Tokens to read before the next one can be chosen; a text that lost its state is read again as it stands."""
        return len(self.prompt) + len(self.written)

    @property
    def longest(self) -> int:
        return len(self.prompt) + self.room

    @property
    def wants_prompt_scores(self) -> bool:
        return self.writing.echo and self.writing.logprobs is not None and not self._sent and not self.written

    @property
    def is_greedy(self) -> bool:
        """Whether the largest score decides and nothing else is asked for, as for a whole batch at once."""
        how = self.writing
        changed = how.repetition_penalty != 1 or how.presence_penalty or how.frequency_penalty or how.logit_bias
        return how.temperature < COLD and not changed and how.logprobs is None

    def read(self, start: int, scores: Tensor) -> None:
        """Tokens of the prompt from `start` on were read, with these scores after each."""
        if not self.wants_prompt_scores:
            return
        if start == 0:
            self._scores.append(TokenScore(token=self._label(self.prompt[0]), logprob=None))
        else:
            assert self._last_prompt_scores is not None
            scores = torch.cat([self._last_prompt_scores, scores])
            start -= 1
        self._last_prompt_scores = scores[-1:]
        following = self.prompt[start + 1 : start + len(scores)]
        self._scores += self._scored(scores[: len(following)], following)

    def echo(self) -> Piece | None:
        """The prompt as the first piece, where it is asked for."""
        if not self.writing.echo or self.written or self._sent:
            return None
        return self._piece(self.tokenizer.decode([self.prompt])[0])

    def choose(self, scores: Tensor) -> int:
        """The next token, by the scores of the vocabulary."""
        how, changed = self.writing, scores.float()
        if how.logit_bias:
            places = torch.tensor(list(how.logit_bias), device=scores.device)
            changed = changed.index_add(0, places, torch.tensor(list(how.logit_bias.values()), device=scores.device))
        if (how.presence_penalty or how.frequency_penalty) and self.written:
            places, counts = torch.tensor(self.written, device=scores.device).unique(return_counts=True)
            penalty = how.presence_penalty + how.frequency_penalty * counts
            changed = changed.index_add(0, places, -penalty.to(changed.dtype))
        token = int(self._choose(changed[None], [self.tokens])[0])
        if how.logprobs is not None and token not in self.tokenizer.ends:
            self._scores += self._scored(scores[None], [token])
        return token

    def add(self, token: int) -> Piece | None:
        """Go on with this token; gives what became certain by it."""
        if token in self.tokenizer.ends:
            return self._end("stop", self._text.rest())
        self.written.append(token)
        text = self._text.add(token)
        if self._text.stopped:
            return self._end("stop", text)
        if len(self.written) >= self.room:
            return self._end("length", text + self._text.rest())
        return self._piece(text) if text or self._scores else None

    def end_unwritten(self) -> Piece:
        """The end where nothing was to be written."""
        return self._end("length", "")

    def _end(self, finish: Finish, text: str) -> Piece:
        self.finish = finish
        return self._piece(text)

    def _piece(self, text: str) -> Piece:
        scores, self._scores = tuple(self._scores), []
        tokens, self._sent = len(self.written) - self._sent, len(self.written)
        return Piece(
            id=self.job.id, index=self.index, text=text, tokens=tokens, scores=scores, finish=self.finish
        )  # fmt: skip

    def _scored(self, scores: Tensor, tokens: Sequence[int]) -> list[TokenScore]:
        """Each token with its log-probability, given the scores at its place."""
        if not tokens:
            return []
        logprobs = scores.float().log_softmax(-1)
        own = logprobs.gather(1, torch.tensor(tokens, device=scores.device)[:, None])[:, 0].tolist()
        best = logprobs.topk(min(self.writing.logprobs or 0, logprobs.shape[-1]), -1)
        rows = zip(tokens, own, best.values.tolist(), best.indices.tolist(), strict=True)
        return [
            TokenScore(
                token=self._label(token),
                logprob=logprob,
                top=tuple((self._label(one), value) for value, one in zip(values, places, strict=True)),
            )
            for token, logprob, values, places in rows
        ]

    def _label(self, token: int) -> str:
        """The text of a token by itself; a special token or a part of a character as the vocabulary writes it."""
        [text] = self.tokenizer.decode([[token]])
        return text if text and "\ufffd" not in text else self.tokenizer.pieces([token])[0]
