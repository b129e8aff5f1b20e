"""Clients that go away: whatever is done for them is stopped, streaming or not."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from regard.serve.errors import ApiError

T = TypeVar("T")


class ClientDisconnectError(Exception):
    """The client has closed its connection."""


async def or_disconnect(receive: Callable[[], Awaitable[Any]], work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, unless the client goes away first."""
    gone, task = asyncio.ensure_future(_until_disconnect(receive)), asyncio.ensure_future(work)
    try:
        await asyncio.wait((gone, task), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnectError
        return await task
    finally:
        for one in (gone, task):
            one.cancel()
        await asyncio.gather(gone, task, return_exceptions=True)


async def _until_disconnect(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """Server-sent events: each a JSON object, then [DONE]. `finish` is called however it ends."""

    def __init__(self, events: AsyncIterator[dict[str, Any]], finish: Callable[[bool], None]):
        super().__init__(
            media_type="text/event-stream", headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self.events, self.finish = events, finish

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        went = True
        try:
            await or_disconnect(receive, self._send(send))
            went = False
        except (ClientDisconnectError, OSError):
            pass
        finally:
            self.finish(went)

    async def _send(self, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async for event in self.events:
                await send({"type": "http.response.body", "body": _line(event), "more_body": True})
        except ApiError as error:  # the answer has begun: the error is its last event
            await send({"type": "http.response.body", "body": _line(error.body), "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})


def _line(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n\n"


def receive_of(request: Request) -> Callable[[], Awaitable[Any]]:
    return request.receive
