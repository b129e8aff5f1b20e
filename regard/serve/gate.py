"""The gate: every request passes it before anything else, and every answer after.

Who may enter (host name, origin, API key), how large a request may be and how long it may take to send, and one line
of the log for each. It is ASGI itself, so that a client's going away is seen by whoever waits for it.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from uuid import uuid4

from regard.serve.errors import ApiError
from regard.serve.logs import log, log_event
from regard.serve.settings import Settings, client_of
from regard.view.guard import is_loopback, is_server_name

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

DETAILS = "regard"  # where routes note what the log shall say
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


class Gate:
    def __init__(self, app: App, settings: Settings, count: Callable[[str, int], None]):
        self.app, self.settings, self.count = app, settings, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets
        start, status, started = time.monotonic(), 500, False
        details: dict[str, Any] = {"id": uuid4().hex, "client": "", "method": scope["method"], "path": scope["path"]}
        scope[DETAILS] = details

        async def send_noted(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                more = {**HEADERS, "X-Request-Id": details["id"]}
                message["headers"] = [*message.get("headers", ()), *((k.encode(), v.encode()) for k, v in more.items())]
            await send(message)

        try:
            try:
                details["client"] = self._admit(scope)
                await self.app(scope, await self._with_body(scope, receive), send_noted)
            except ApiError as error:
                await refuse(error, send_noted)
            except Exception:
                log.exception("request %s", details["id"])
                if started:  # the connection is closed without its end, which a client notices
                    raise
                await refuse(ApiError(500, "internal error; the log of the server says more"), send_noted)
        finally:
            details["status"], details["ms"] = status, round(1000 * (time.monotonic() - start), 1)
            self.count(details.pop("route", "other"), status)
            log_event("request", **details)

    def _admit(self, scope: Scope) -> str:
        """Who sends the request; refuses those who may not."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host, settings = headers.get("host", ""), self.settings
        if is_loopback(settings.host) and not is_server_name(host, settings.host):
            raise ApiError(421, f"{host[:100]!r} is not a name of this server")  # DNS rebinding
        origin = headers.get("origin")
        own = origin is None or origin.partition("://")[2] == host
        if not own and origin not in settings.origins:
            raise ApiError(403, "requests of web pages of other sites are refused; --origin allows one")
        client = scope.get("client") or ("unknown", 0)
        if not settings.keys or (scope["method"] == "OPTIONS" and origin in settings.origins):
            return str(client[0])
        known = client_of(settings.keys, headers.get("authorization", ""))
        if known is None:
            names = {"WWW-Authenticate": 'Bearer realm="regard", Basic realm="regard"'}
            raise ApiError(
                401, "an API key is needed: Authorization: Bearer KEY", code="invalid_api_key", headers=names
            )
        return known

    async def _with_body(self, scope: Scope, receive: Receive) -> Receive:
        """The whole body at once, within its limits; then what `receive` gives: that the client has gone."""
        limits = self.settings.limits
        length = next((value for name, value in scope["headers"] if name.lower() == b"content-length"), b"0")
        if length.isdigit() and int(length) > limits.body:
            raise _too_large(limits.body)
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(limits.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ApiError(400, "the request ended before it was complete")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more = message.get("more_body", False)
                    if size > limits.body:
                        raise _too_large(limits.body)
        except TimeoutError:
            raise ApiError(408, f"the request took more than {limits.body_seconds:g} s", headers=CLOSE) from None
        whole: Message | None = {"type": "http.request", "body": b"".join(parts), "more_body": False}
        if self.settings.log_contents:
            scope[DETAILS]["body"] = b"".join(parts).decode("utf-8", "replace")

        async def replay() -> Message:
            nonlocal whole
            if whole is None:
                return await receive()
            message, whole = whole, None
            return message

        return replay


CLOSE = {"Connection": "close"}


def _too_large(most: int) -> ApiError:
    return ApiError(413, f"the request has more than {most:,} bytes", code="too_large", headers=CLOSE)


async def refuse(error: ApiError, send: Send) -> None:
    body = json.dumps(error.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **error.headers}
    coded = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": coded})
    await send({"type": "http.response.body", "body": body})
