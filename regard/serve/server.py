"""The web server: runs until a signal. Then it takes no more requests, and ends once those it has are answered."""

import asyncio
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn

from regard.serve.app import make_app
from regard.serve.header_timeout import HeaderTimeoutProtocol
from regard.serve.logs import log_event, log_to_stderr
from regard.serve.served import Launch, ServedModel, in_process
from regard.serve.serving import Serving
from regard.serve.settings import Settings

CONNECTIONS = 1000  # at a time; more are answered 503
LAST_WORDS = 0.5  # seconds for errors to reach clients once the grace time is over


class DrainingServer(uvicorn.Server):
    """The first signal drains, the second ends at once. Either way the process ends with 0."""

    def __init__(self, config: uvicorn.Config, serving: Serving):
        super().__init__(config)
        self.serving = serving
        self._loop: asyncio.AbstractEventLoop | None = None
        self._drain: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: Any) -> None:
        if self.serving.draining or self._loop is None:
            self.should_exit = self.force_exit = True
            return
        self.serving.draining = True
        self._loop.call_soon_threadsafe(self._begin_drain, signal.Signals(sig).name)

    def _begin_drain(self, name: str) -> None:
        self._drain = asyncio.ensure_future(self.drain(name))

    async def drain(self, name: str) -> None:
        """Wait for the requests that are being answered; those left at the end get an error."""
        serving = self.serving
        log_event("draining", signal=name, open=serving.open, seconds=serving.limits.grace)
        deadline = asyncio.get_running_loop().time() + serving.limits.grace
        while serving.open and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.05)
        if serving.open:
            for model in serving.models.values():
                model.fail_all(503, "the server is stopping")
            await asyncio.sleep(LAST_WORDS)
        self.should_exit = True


def names_of(paths: Sequence[Path]) -> list[str]:
    """The name of a model is that of its folder; where two are alike, the whole path."""
    short = [path.resolve().name for path in paths]
    return [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]


def make_serving(paths: Sequence[Path], settings: Settings, launch: Launch = in_process) -> Serving:
    named = zip(names_of(paths), paths, strict=True)
    return Serving([ServedModel(name, path, settings.limits, launch) for name, path in named], settings)


def run_server(serving: Serving, listener: socket.socket) -> None:
    """Answer until SIGTERM or Ctrl-C."""
    log_to_stderr()
    config = uvicorn.Config(
        make_app(serving),
        http=HeaderTimeoutProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=5,
    )
    DrainingServer(config, serving).run(sockets=[listener])
