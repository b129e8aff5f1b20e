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
from regard.interop.chat import ChatTemplate
from regard.serve.batch import Batch
from regard.serve.completion import Completion
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

    left: int  # completions that are not finished
    prompt_tokens: int
    cached: dict[int, int] = field(default_factory=dict)  # tokens of each completion that were known already


class Engine:
    def __init__(self, model: TextWriter, tokenizer: Tokenizer, limits: Limits, chat: ChatTemplate | None = None):
        self.model, self.tokenizer, self.limits, self.chat = model, tokenizer, limits, chat
        self.vocab: int = model.config.vocab  # type: ignore[attr-defined]
        self.context = min(model.max_positions or limits.context, limits.context)
        self.tokens = limits.rows * self.context
        self.scheduler: Scheduler[Completion] = Scheduler(limits.rows, limits.chunk, self.tokens)
        self.batch: Batch[Completion] = Batch(model)
        self.prefixes = Prefixes(limits.prefixes)
        self._requests: dict[int, Open] = {}
        self._states: dict[int, Any] = {}  # of prompts that are being read, by `id(completion)`
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
                self.scheduler.add(Completion(job, place * job.n + number, prompt, most, self.tokenizer))

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
        usage = sum(completion.prompt_length for completion in self.scheduler.running) / self.tokens
        events, self._events = self._events, []
        return [*events, Load(held, len(self.scheduler.waiting), usage)]

    def _known(self, completion: Completion) -> int:
        """How much of a prompt was read for an earlier one."""
        known, state = (
            (0, None) if completion.wants_prompt_scores else self.prefixes.find(completion.client, completion.tokens)
        )
        if state is not None:
            self._states[id(completion)] = state
            self._requests[completion.job.id].cached.setdefault(completion.index, known)
        return known

    def _read(self, chunk: Chunk[Completion]) -> None:
        completion = chunk.text
        if completion.job.id not in self._requests:  # another of its completions has failed a moment ago
            return
        tokens = torch.tensor([completion.tokens[chunk.start : chunk.end]], device=self.model.device)
        state = self._states.pop(id(completion), None)
        try:
            state = self.model.init_state(completion.prompt_length + 64) if state is None else state
            scores, state = self.model.step(tokens, state)
            completion.read(chunk.start, scores[0])
        except Exception:
            self._fail(completion)
            return
        if not chunk.is_last:
            self._states[id(completion)] = state
            return
        if (piece := completion.echo()) is not None:
            self._events.append(piece)
        if completion.room == 0:
            self._events.append(completion.end_unwritten())
            self._finish(completion)
            return
        self._write([completion], scores[:, -1])
        if completion.finish is None and completion.job.id in self._requests:
            before = completion.tokens[:-1]  # the newest token is read at the next step
            self.batch.join(completion, self._shared(completion.client, before, state))

    def _shared(self, client: str, tokens: list[int], state: Any) -> Any:
        """The state to go on with, where the prompts of others may go on from it too."""
        self.prefixes.add(client, tokens, state)
        if hasattr(state, "prefix") and not (self.batch.joins and self.batch.texts):  # it would grow with the text
            return state.prefix(torch.tensor([tokens], device=self.model.device))
        return state

    def _step(self) -> None:
        completions = self.batch.texts
        try:
            with one_thread(len(completions) == 1 and writes_alone(self.model)):
                scores = self.batch.step({id(completion): completion.written[-1] for completion in completions})
        except Exception:
            log.exception("a step of %d texts", len(completions))
            self.batch = Batch(self.model)
            for completion in completions:
                completion.attempts += 1
                if completion.attempts > ATTEMPTS:
                    self._fail(completion)
                else:
                    self.scheduler.again(completion)
            return
        self._write(completions, scores)
        self.batch.leave([completion for completion in completions if completion.finish is not None])

    def _write(self, completions: list[Completion], scores: Tensor) -> None:
        """Choose the next token of each text by its scores."""
        best, finite = scores.argmax(-1).tolist(), scores.amax(-1).isfinite().tolist()
        for completion, row, likeliest, valid in zip(completions, scores, best, finite, strict=True):
            if completion.job.id not in self._requests:
                continue
            try:
                if not valid:
                    raise FloatingPointError("the scores of the model are not finite")
                piece = completion.add(likeliest if completion.is_greedy else completion.choose(row))
            except Exception:
                self._fail(completion)
                continue
            if piece is not None:
                self._events.append(piece)
            if completion.finish is not None:
                self._finish(completion)

    def _finish(self, completion: Completion) -> None:
        self.scheduler.remove(lambda other: other is completion)
        request = self._requests[completion.job.id]
        request.left -= 1
        if not request.left:
            del self._requests[completion.job.id]
            self._events.append(Done(completion.job.id, request.prompt_tokens, sum(request.cached.values())))

    def _fail(self, completion: Completion) -> None:
        log.exception("request %d", completion.job.id)
        self._remove(completion.job.id)
        self._events.append(Failed(completion.job.id, 500, INTERNAL))

    def _remove(self, request: int) -> None:
        """A request that failed or is no longer wanted leaves with all its completions."""
        self._requests.pop(request, None)
        removed = self.scheduler.remove(lambda completion: completion.job.id == request)
        for completion in removed:
            self._states.pop(id(completion), None)
        self.batch.leave(removed)
