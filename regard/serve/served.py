"""A served model: the server's end of a worker. It starts the worker, restarts it if it dies, and hands out events."""

import asyncio
import logging
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from regard.serve.errors import ApiError, full, unavailable
from regard.serve.limits import Limits
from regard.serve.messages import Ask, Broken, Cancel, Done, Failed, Generate, Load, ModelInfo, Piece, Ready, Stop
from regard.serve.worker import run_worker

log = logging.getLogger(__name__)
NUMBERS = count(1)  # of requests
LONGEST_PAUSE = 30.0  # seconds between two starts of a worker that dies again and again


Launch = Callable[[Path, Limits, Connection], Any]


def in_process(path: Path, limits: Limits, pipe: Connection, precision: str = "auto") -> Any:
    words = (path, limits, pipe, precision)
    return multiprocessing.get_context("spawn").Process(target=run_worker, args=words, daemon=True)


def in_thread(path: Path, limits: Limits, pipe: Connection) -> Any:
    return threading.Thread(target=run_worker, args=(path, limits, pipe), daemon=True)


class Ticket:
    """The events of one request, as they come."""

    def __init__(self, number: int, model: "ServedModel"):
        self.number, self.model = number, model
        self._events: asyncio.Queue[Piece | Done | Failed] = asyncio.Queue()

    def put(self, event: Piece | Done | Failed) -> None:
        self._events.put_nowait(event)

    async def next(self) -> Piece | Done:
        event = await self._events.get()
        if isinstance(event, Failed):
            code = "internal_error" if event.status == 500 else None
            raise ApiError(event.status, event.message, param=event.param, code=code)
        return event


class ServedModel:
    def __init__(self, name: str, path: Path, limits: Limits, launch: Launch = in_process):
        self.name, self.path, self.limits = name, path, limits
        self.state: Literal["loading", "ready", "broken", "stopped"] = "loading"
        self.reason = ""
        self.info: ModelInfo | None = None
        self.load = Load(0, 0, 0.0)
        self.restarts, self.created = 0, int(time.time())
        self.changed = asyncio.Event()  # set once it is ready or broken
        self._launch = launch
        self._tickets: dict[int, Ticket] = {}
        self._generation = 0
        self._pause = 0.0
        self._child: Any = None
        self._outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def open(self) -> int:
        """Requests that are waiting or being answered."""
        return len(self._tickets)

    def start(self) -> None:
        """Start the worker; it loads its model meanwhile."""
        self._generation += 1
        self.state = "loading"
        ours, theirs = multiprocessing.Pipe()
        self._child = self._launch(self.path, self.limits, theirs)
        self._child.start()
        if not isinstance(self._child, threading.Thread):
            theirs.close()  # so that its end is noticed
        self._outbox = queue.SimpleQueue()
        loop = asyncio.get_running_loop()
        for work in (_read_pipe, _write_pipe):
            arguments = (self, ours, self._generation, loop) if work is _read_pipe else (ours, self._outbox)
            threading.Thread(target=work, args=arguments, daemon=True).start()

    def check_ready(self) -> None:
        if self.state != "ready":
            reason = f"is not served ({self.reason})" if self.state == "broken" else "is being loaded; try again soon"
            raise unavailable(f"the model {self.name!r} {reason}", "model_not_ready")

    def submit(self, make: Callable[[int], Generate | Ask]) -> Ticket:
        """Queue a request, or refuse it at once."""
        self.check_ready()
        job = make(next(NUMBERS))  # what is wrong with a request is said even where there is no room for it
        if self.open >= self.limits.rows + self.limits.queue:
            raise full(f"the queue of the model {self.name!r} is full ({self.open} requests); try again later")
        ticket = self._tickets[job.id] = Ticket(job.id, self)
        self._outbox.put(job)
        return ticket

    def close(self, ticket: Ticket) -> bool:
        """The request is over; gives whether it had to be cancelled."""
        unfinished = self._tickets.pop(ticket.number, None) is not None
        if unfinished:
            self._outbox.put(Cancel(ticket.number))
        return unfinished

    def fail_all(self, status: int, message: str) -> None:
        for number, ticket in list(self._tickets.items()):
            ticket.put(Failed(number, status, message))

    async def stop(self) -> None:
        self.state = "stopped"
        self._outbox.put(Stop())
        self._outbox.put(None)
        await asyncio.to_thread(self._child.join, 5.0)
        if hasattr(self._child, "kill") and self._child.is_alive():
            self._child.kill()

    def receive(self, generation: int, events: list[Any]) -> None:
        """Events of the worker; those of one that was replaced are too late."""
        if generation != self._generation:
            return
        for event in events:
            if isinstance(event, Ready):
                self.state, self.info, self._pause = "ready", event.info, 0.0
                self.changed.set()
            elif isinstance(event, Broken):
                self.state, self.reason = "broken", event.reason
                self.changed.set()
            elif isinstance(event, Load):
                self.load = event
            elif (ticket := self._tickets.get(event.id)) is not None:
                if isinstance(event, Done | Failed):
                    del self._tickets[event.id]
                ticket.put(event)

    def lost(self, generation: int) -> None:
        """The worker has ended: its requests fail, and it is started again."""
        if generation != self._generation or self.state in ("stopped", "broken"):
            return
        log.error("the worker of %s ended unexpectedly; it is started again", self.name)
        self.restarts += 1
        self.state, self.load = "loading", Load(0, 0, 0.0)
        self.fail_all(500, f"the worker of the model {self.name!r} ended unexpectedly; it is being started again")
        self._tickets.clear()
        self._outbox.put(None)
        loop = asyncio.get_running_loop()
        loop.call_later(self._pause, lambda: self.start() if self.state == "loading" else None)
        self._pause = min(LONGEST_PAUSE, max(1.0, 2 * self._pause))


def _read_pipe(model: ServedModel, pipe: Connection, generation: int, loop: asyncio.AbstractEventLoop) -> None:
    """In a thread of its own: events go to the server's loop."""
    try:
        try:
            while True:
                loop.call_soon_threadsafe(model.receive, generation, pipe.recv())
        except (EOFError, OSError):
            loop.call_soon_threadsafe(model.lost, generation)
    except RuntimeError:  # the loop is closed: the server has ended
        return


def _write_pipe(pipe: Connection, outbox: "queue.SimpleQueue[Any]") -> None:
    """In a thread of its own: a worker that is busy does not take messages at once."""
    while (message := outbox.get()) is not None:
        try:
            pipe.send(message)
        except OSError:
            return
