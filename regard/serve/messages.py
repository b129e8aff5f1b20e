"""Messages between the server and its workers: plain data, sent through a pipe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Finish = Literal["stop", "length"]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How a text is to be continued: sampling, stop texts, what is reported."""

    max_tokens: int | None  # None: as many as fit
    temperature: float = 1.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    stop: tuple[str, ...] = ()
    seed: int | None = None
    logprobs: int | None = None  # how many of the most probable tokens are listed beside each one
    echo: bool = False  # the prompt is part of the text


@dataclass(frozen=True, kw_only=True)
class Generate:
    """Continue prompts, each `n` times."""

    id: int
    client: str  # requests take turns between clients
    writing: Writing
    prompts: tuple[str | tuple[int, ...], ...] = ()
    messages: tuple[Mapping[str, Any], ...] | None = None  # a chat, in place of prompts
    n: int = 1


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Everything that is answered at once: translate, classify, predict, …"""

    id: int
    client: str
    route: str
    inputs: tuple[Any, ...]  # texts, images, rows
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cancel:
    id: int


@dataclass(frozen=True)
class Stop:
    """The worker ends."""


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """What the server needs to know of a model that a worker has loaded."""

    kind: str  # such as GPT or NPTClassifier
    task: str  # the command that it answers: lm, translate, classify, …
    routes: tuple[str, ...]
    hint: str = ""  # what to enter
    vocab: int | None = None
    context: int | None = None  # positions of the model; None: any number
    chat: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ready:
    info: ModelInfo


@dataclass(frozen=True)
class Broken:
    """The model cannot be loaded, and no restart would help."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class TokenScore:
    """A token with its log-probability, and the most probable tokens at its place."""

    token: str
    logprob: float | None  # None: the first token of a text, which nothing predicts
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Piece:
    """More of one choice."""

    id: int
    index: int
    text: str
    tokens: int = 0  # written since the last piece
    scores: tuple[TokenScore, ...] = ()
    finish: Finish | None = None


@dataclass(frozen=True)
class Done:
    """The request is complete."""

    id: int
    prompt_tokens: int = 0
    cached_tokens: int = 0  # of the prompt, that were read for an earlier request
    results: tuple[Mapping[str, Any], ...] = ()  # of each input of an `Ask`


@dataclass(frozen=True)
class Failed:
    id: int
    status: int
    message: str
    param: str | None = None


@dataclass(frozen=True)
class Load:
    """What a worker is doing, for the metrics."""

    running: int
    waiting: int
    cache_usage: float


Event = Ready | Broken | Piece | Done | Failed | Load
