"""OpenAI's routes of language models: completions and chats, whole or streamed."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request

from regard.serve.disconnect import ClientDisconnectError, EventStream, or_disconnect, receive_of
from regard.serve.errors import unavailable
from regard.serve.gate import DETAILS
from regard.serve.jobs import chat_job, completion_job
from regard.serve.messages import Ask, Done, Generate, Piece
from regard.serve.replies import Kind, Reply
from regard.serve.schemas import ChatBody, CompletionBody, WritingBody
from regard.serve.served import ServedModel, Ticket
from regard.serve.serving import ERRORS, Serving


def add_text_routes(app: FastAPI, serving: Serving) -> None:
    @app.post("/v1/completions", responses=ERRORS)
    async def completions(request: Request, body: CompletionBody) -> Any:
        """Continue prompts: texts or token ids."""
        return await write(serving, request, body, "completion")

    @app.post("/v1/chat/completions", responses=ERRORS)
    async def chat(request: Request, body: ChatBody) -> Any:
        """Continue a chat, by the chat template of the model's folder."""
        return await write(serving, request, body, "chat")


async def write(serving: Serving, request: Request, body: WritingBody, kind: Kind) -> Any:
    model = serving.model(body.model, "completions" if kind == "completion" else "chat/completions")
    client, info, limits = request.scope[DETAILS]["client"], model.info, serving.limits
    assert info is not None

    def make(number: int) -> Generate | Ask:
        if isinstance(body, CompletionBody):
            return completion_job(number, client, body, info, limits)
        assert isinstance(body, ChatBody)
        return chat_job(number, client, body, info, limits)

    jobs: list[Any] = []

    def keep(number: int) -> Any:
        jobs.append(make(number))
        return jobs[0]

    ticket = model.submit(keep)
    job: Generate = jobs[0]
    reply = Reply(kind, model.name, max(1, len(job.prompts)) * job.n, job.writing.logprobs is not None)
    exchange = Exchange(serving, model, ticket, reply, request.scope[DETAILS])
    if not body.stream:
        return await exchange.whole(request)
    first = await exchange.first(request)  # so that a request that is refused has a status of its own
    usage = body.stream_options is not None and body.stream_options.include_usage
    return EventStream(exchange.chunks(first, usage), exchange.finish)


class Exchange:
    """One request on its way: events in, an answer out, and the metrics on the side."""

    def __init__(self, serving: Serving, model: ServedModel, ticket: Ticket, reply: Reply, details: dict[str, Any]):
        self.serving, self.model, self.ticket, self.reply, self.details = serving, model, ticket, reply, details
        self.start, self.last = time.monotonic(), 0.0
        self.deadline = self.start + serving.limits.seconds
        details["model"] = model.name

    async def whole(self, request: Request) -> dict[str, Any]:
        went = False
        try:
            return self.reply.whole(await or_disconnect(receive_of(request), self._collect()))
        except ClientDisconnectError:
            went = True
            raise
        finally:
            self.finish(went)

    async def first(self, request: Request) -> Piece | Done:
        try:
            return await or_disconnect(receive_of(request), self._next())
        except BaseException as error:
            self.finish(isinstance(error, ClientDisconnectError))
            raise

    async def chunks(self, first: Piece | Done, usage: bool) -> AsyncIterator[dict[str, Any]]:
        for chunk in self.reply.first_chunks():
            yield chunk
        event = first
        while isinstance(event, Piece):
            if event.text or event.scores or event.finish:
                yield self.reply.chunk(event)
            self.reply.add(event)
            event = await self._next()
        if usage:
            yield self.reply.usage_chunk(event)

    async def _collect(self) -> Done:
        while isinstance(event := await self._next(), Piece):
            self.reply.add(event)
        return event

    async def _next(self) -> Piece | Done:
        try:
            async with asyncio.timeout(max(0.0, self.deadline - time.monotonic())):
                event = await self.ticket.next()
        except TimeoutError:
            raise unavailable(f"not finished after {self.serving.limits.seconds:g} s", "timeout") from None
        self._measure(event)
        return event

    def _measure(self, event: Piece | Done) -> None:
        metrics, name, now = self.serving.metrics, self.model.name, time.monotonic()
        if isinstance(event, Done):
            metrics.prompt_tokens.labels(name).inc(event.prompt_tokens)
            metrics.cached_tokens.labels(name).inc(event.cached_tokens)
            metrics.latency.labels(name).observe(now - self.start)
            self.details["prompt_tokens"] = event.prompt_tokens
            return
        if self.last == 0.0:
            metrics.first_token.labels(name).observe(now - self.start)
        elif event.tokens:
            metrics.per_token.labels(name).observe((now - self.last) / event.tokens)
        self.last = now
        metrics.generation_tokens.labels(name).inc(event.tokens)
        if event.finish:
            metrics.success.labels(name, event.finish).inc()

    def finish(self, went: bool) -> None:
        """However the request ended: its place is free."""
        self.model.close(self.ticket)
        self.details["completion_tokens"] = self.reply.tokens
        if went:
            self.details["cancelled"] = True
            self.serving.metrics.cancelled.labels(self.model.name).inc()
