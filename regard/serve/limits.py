"""Limits: what one request may ask for, and how many requests may wait. All are checked before any work is done."""

from dataclasses import dataclass

from regard.core.errors import at_least

MEGABYTE = 2**20


@dataclass(frozen=True, kw_only=True)
class Limits:
    rows: int = 8  # texts that a language model writes at once
    queue: int = 64  # requests that may wait for a model
    max_tokens: int = 4096  # written for one choice
    context: int = 8192  # tokens of a prompt and its continuation, where the model has no limit of its own
    chunk: int = 256  # tokens of prompts that are read between two steps of the texts that are being written
    prefixes: int = 2048  # tokens of earlier prompts that are kept, for prompts that begin alike
    n: int = 16  # choices for one prompt
    inputs: int = 256  # prompts, texts, rows or images in one request
    stop: int = 16  # stop texts
    stop_length: int = 256  # characters of a stop text
    logprobs: int = 20  # tokens that are listed beside each one
    logit_bias: int = 1024  # tokens whose score is changed
    body: int = 4 * MEGABYTE  # bytes of a request
    seconds: float = 600.0  # for one request, waiting included
    body_seconds: float = 30.0  # for sending the request
    grace: float = 30.0  # seconds for running requests to finish once the server is asked to stop

    def __post_init__(self) -> None:
        at_least(1, rows=self.rows, max_tokens=self.max_tokens, context=self.context, chunk=self.chunk, body=self.body)
        at_least(0, queue=self.queue)

    @property
    def choices(self) -> int:
        """Choices of all prompts of a request."""
        return max(self.inputs, self.n)
