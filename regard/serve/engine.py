"""The engine of a worker: takes requests, reads and writes by the scheduler's plan, and gives events.

One failure is one request's: if a batch fails, each of its texts is read again by itself, and the one that fails
alone is answered with an error.
"""

import logging
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.core.errors import UserError
from regard.decode import TextWriter
from regard.decode.write import one_thread, writes_alone
from regard.serve.batch import Batch
from regard.serve.chat import ChatTemplate
from regard.serve.choice import Choice
from regard.serve.limits import Limits
from regard.serve.messages import Done, Event, Failed, Generate, Load
from regard.serve.prefixes import Prefixes
from regard.serve.scheduler import Chunk, Scheduler
from regard.text import Tokenizer

log = logging.getLogger(__name__)
ATTEMPTS = 2  # at writing a text in batches that fail, before it is given up
INTERNAL = "internal error; the log of the server says more"


@dataclass
class Open:
    """A request that is being answered."""

    left: int  # choices that are not finished
    prompt_tokens: int
    cached: dict[int, int] = field(default_factory=dict)  # tokens of each choice that were known already


class Engine:
    def __init__(self, model: TextWriter, tokenizer: Tokenizer, limits: Limits, chat: ChatTemplate | None = None):
        self.model, self.tokenizer, self.limits, self.chat = model, tokenizer, limits, chat
        self.vocab: int = model.config.vocab  # type: ignore[attr-defined]
        self.context = min(model.max_positions or limits.context, limits.context)
        self.tokens = limits.rows * self.context
        self.scheduler: Scheduler[Choice] = Scheduler(limits.rows, limits.chunk, self.tokens)
        self.batch: Batch[Choice] = Batch(model)
        self.prefixes = Prefixes(limits.prefixes)
        self._requests: dict[int, Open] = {}
        self._states: dict[int, Any] = {}  # of prompts that are being read, by `id(choice)`
        self._events: list[Event] = []

    @property
    def busy(self) -> bool:
        return self.scheduler.busy or bool(self._events)

    def submit(self, job: Generate) -> None:
        try:
            prompts = self._prompts(job)
        except UserError as error:
            self._events.append(Failed(job.id, 400, str(error), "messages" if job.messages else "prompt"))
            return
        except Exception:
            log.exception("request %d", job.id)
            self._events.append(Failed(job.id, 500, INTERNAL))
            return
        self._requests[job.id] = Open(len(prompts) * job.n, sum(map(len, prompts)))
        for place, prompt in enumerate(prompts):
            room = self.context - len(prompt) + 1  # the last one is written and not read
            most = room if job.writing.max_tokens is None else min(job.writing.max_tokens, room)
            for number in range(job.n):
                self.scheduler.add(Choice(job, place * job.n + number, prompt, most, self.tokenizer))

    def _prompts(self, job: Generate) -> list[list[int]]:
        if job.messages is not None:
            if self.chat is None:
                raise UserError("this model has no chat template; use /v1/completions")
            prompts = [self.chat.tokens(job.messages, self.tokenizer)]
        else:
            prompts = [self.tokenizer.prompt(one) if isinstance(one, str) else list(one) for one in job.prompts]
        for prompt in prompts:
            wanted = len(prompt) + (job.writing.max_tokens or 0)
            if len(prompt) > self.context or wanted > self.context + 1:
                raise UserError(
                    f"the context of this model is {self.context:,} tokens; the prompt has {len(prompt):,} and "
                    f"max_tokens is {job.writing.max_tokens}: shorten either"
                )
        return prompts

    def cancel(self, request: int) -> None:
        with torch.inference_mode():
            self._remove(request)

    def tick(self) -> list[Event]:
        """Read some of the prompts, then write a token of every running text; gives what happened."""
        with torch.inference_mode():
            for chunk in self.scheduler.chunks(self._known):
                self._read(chunk)
            if self.batch.texts:
                self._step()
        held = len(self.scheduler.running)
        usage = sum(choice.prompt_length for choice in self.scheduler.running) / self.tokens
        events, self._events = self._events, []
        return [*events, Load(held, len(self.scheduler.waiting), usage)]

    def _known(self, choice: Choice) -> int:
        """How much of a prompt was read for an earlier one."""
        known, state = (0, None) if choice.wants_prompt_scores else self.prefixes.find(choice.client, choice.tokens)
        if state is not None:
            self._states[id(choice)] = state
            self._requests[choice.job.id].cached.setdefault(choice.index, known)
        return known

    def _read(self, chunk: Chunk[Choice]) -> None:
        choice = chunk.text
        if choice.job.id not in self._requests:  # another of its choices has failed a moment ago
            return
        tokens = torch.tensor([choice.tokens[chunk.start : chunk.end]], device=self.model.device)
        state = self._states.pop(id(choice), None)
        try:
            state = self.model.init_state(choice.prompt_length + 64) if state is None else state
            scores, state = self.model.step(tokens, state)
            choice.read(chunk.start, scores[0])
        except Exception:
            self._fail(choice)
            return
        if not chunk.is_last:
            self._states[id(choice)] = state
            return
        if (piece := choice.echo()) is not None:
            self._events.append(piece)
        if choice.room == 0:
            self._events.append(choice.end_unwritten())
            self._finish(choice)
            return
        self._write([choice], scores[:, -1])
        if choice.finish is None and choice.job.id in self._requests:
            before = choice.tokens[:-1]  # the newest token is read at the next step
            self.batch.join(choice, self._shared(choice.client, before, state))

    def _shared(self, client: str, tokens: list[int], state: Any) -> Any:
        """The state to go on with, where the prompts of others may go on from it too."""
        self.prefixes.add(client, tokens, state)
        if hasattr(state, "prefix") and not (self.batch.joins and self.batch.texts):  # it would grow with the text
            return state.prefix(torch.tensor([tokens], device=self.model.device))
        return state

    def _step(self) -> None:
        choices = self.batch.texts
        try:
            with one_thread(len(choices) == 1 and writes_alone(self.model)):
                scores = self.batch.step({id(choice): choice.written[-1] for choice in choices})
        except Exception:
            log.exception("a step of %d texts", len(choices))
            self.batch = Batch(self.model)
            for choice in choices:
                choice.attempts += 1
                if choice.attempts > ATTEMPTS:
                    self._fail(choice)
                else:
                    self.scheduler.again(choice)
            return
        self._write(choices, scores)
        self.batch.leave([choice for choice in choices if choice.finish is not None])

    def _write(self, choices: list[Choice], scores: Tensor) -> None:
        """Choose the next token of each text by its scores."""
        best, finite = scores.argmax(-1).tolist(), scores.amax(-1).isfinite().tolist()
        for choice, row, likeliest, valid in zip(choices, scores, best, finite, strict=True):
            if choice.job.id not in self._requests:
                continue
            try:
                if not valid:
                    raise FloatingPointError("the scores of the model are not finite")
                piece = choice.add(likeliest if choice.is_greedy else choice.choose(row))
            except Exception:
                self._fail(choice)
                continue
            if piece is not None:
                self._events.append(piece)
            if choice.finish is not None:
                self._finish(choice)

    def _finish(self, choice: Choice) -> None:
        self.scheduler.remove(lambda other: other is choice)
        request = self._requests[choice.job.id]
        request.left -= 1
        if not request.left:
            del self._requests[choice.job.id]
            self._events.append(Done(choice.job.id, request.prompt_tokens, sum(request.cached.values())))

    def _fail(self, choice: Choice) -> None:
        log.exception("request %d", choice.job.id)
        self._remove(choice.job.id)
        self._events.append(Failed(choice.job.id, 500, INTERNAL))

    def _remove(self, request: int) -> None:
        """A request that failed or is no longer wanted leaves with all its choices."""
        self._requests.pop(request, None)
        removed = self.scheduler.remove(lambda choice: choice.job.id == request)
        for choice in removed:
            self._states.pop(id(choice), None)
        self.batch.leave(removed)
