"""Replies of language models in OpenAI's shapes: whole, or in chunks of a stream."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from regard.serve.messages import Done, Piece, TokenScore

Kind = Literal["completion", "chat"]
OBJECTS = {"completion": ("text_completion", "text_completion"), "chat": ("chat.completion", "chat.completion.chunk")}


@dataclass
class Written:
    """One choice, collected from its pieces."""

    text: str = ""
    scores: list[TokenScore] = field(default_factory=list)
    finish: str | None = None


class Reply:
    """Collects the pieces of a request."""

    def __init__(self, kind: Kind, model: str, choices: int, logprobs: bool):
        self.kind, self.model, self.logprobs = kind, model, logprobs
        prefix = "cmpl" if kind == "completion" else "chatcmpl"
        self.id, self.created = f"{prefix}-{uuid4().hex}", int(time.time())
        self.choices = [Written() for _ in range(choices)]
        self.tokens = 0

    def add(self, piece: Piece) -> None:
        choice = self.choices[piece.index]
        choice.text += piece.text
        choice.scores += piece.scores
        choice.finish = piece.finish or choice.finish
        self.tokens += piece.tokens

    def whole(self, done: Done) -> dict[str, Any]:
        choices = []
        for index, one in enumerate(self.choices):
            content: dict[str, Any] = {"text": one.text}
            if self.kind == "chat":
                content = {"message": {"role": "assistant", "content": one.text, "refusal": None}}
            scores = self._scores(one.scores, 0)
            choices.append({"index": index, **content, "logprobs": scores, "finish_reason": one.finish})
        return {**self._head(0), "choices": choices, "usage": self.usage(done)}

    def first_chunks(self) -> list[dict[str, Any]]:
        """A chat begins with the role."""
        if self.kind == "completion":
            return []
        role = {"delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        return [{**self._head(1), "choices": [{"index": index, **role}]} for index in range(len(self.choices))]

    def chunk(self, piece: Piece) -> dict[str, Any]:
        """A piece, after what came before it was added."""
        before = len(self.choices[piece.index].text)
        content: dict[str, Any] = {"text": piece.text}
        if self.kind == "chat":
            content = {"delta": {"content": piece.text} if piece.text or not piece.finish else {}}
        scores = self._scores(piece.scores, before)
        return {
            **self._head(1),
            "choices": [{"index": piece.index, **content, "logprobs": scores, "finish_reason": piece.finish}],
        }

    def usage_chunk(self, done: Done) -> dict[str, Any]:
        return {**self._head(1), "choices": [], "usage": self.usage(done)}

    def usage(self, done: Done) -> dict[str, Any]:
        return {
            "prompt_tokens": done.prompt_tokens,
            "completion_tokens": self.tokens,
            "total_tokens": done.prompt_tokens + self.tokens,
            "prompt_tokens_details": {"cached_tokens": done.cached_tokens},
        }

    def _head(self, streamed: int) -> dict[str, Any]:
        return {"id": self.id, "object": OBJECTS[self.kind][streamed], "created": self.created, "model": self.model}

    def _scores(self, scores: Sequence[TokenScore], offset: int) -> dict[str, Any] | None:
        if not self.logprobs:
            return None
        if self.kind == "chat":
            return {"content": [{**_chat_score(one.token, one.logprob), "top_logprobs": _top(one)} for one in scores]}
        offsets = []
        for one in scores:
            offsets.append(offset)
            offset += len(one.token)
        return {
            "tokens": [one.token for one in scores],
            "token_logprobs": [one.logprob for one in scores],
            "top_logprobs": [None if one.logprob is None else dict(one.top) for one in scores],
            "text_offset": offsets,
        }


def _chat_score(token: str, logprob: float | None) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "surrogatepass"))}


def _top(one: TokenScore) -> list[dict[str, Any]]:
    return [_chat_score(token, logprob) for token, logprob in one.top]
