"""A worker: one model in a process of its own. Messages come through a pipe, events go back."""

import logging
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from regard.core.errors import UserError
from regard.serve.limits import Limits
from regard.serve.logs import log_to_stderr
from regard.serve.messages import Ask, Broken, Cancel, Event, Generate, Load, ModelInfo, Ready, Stop

log = logging.getLogger(__name__)


class Worker:
    """What a model does with messages; it knows no pipe and no process."""

    def __init__(self, path: Path, limits: Limits, precision: str = "auto"):
        from regard.loading import holds_table, load, load_table
        from regard.serve.answers import routes_of
        from regard.serve.asking import AskQueue

        self.path, self.limits, self.precision = path, limits, precision
        self.loaded: Any = load_table(path) if holds_table(path) else load(path)
        self.routes = routes_of(self.loaded)
        self.asks = AskQueue(self.loaded)
        self.engine = self._engine() if "completions" in self.routes else None
        self._load: Event = Load(0, 0, 0.0)

    def _engine(self) -> Any:
        from regard.decode import accelerate, text_writer
        from regard.interop.chat import read_chat_template
        from regard.serve.engine import Engine

        tokenizer = self.loaded.require_tokenizer("it continues tokens but no text")
        model = text_writer(self.loaded.model.eval())
        accelerate(self.loaded.model, self.precision)
        chat = self.loaded.extra.get("chat") or read_chat_template(self.path)
        if chat is not None:
            chat.check()  # rather now than at the first chat
        return Engine(model, tokenizer, self.limits, chat)

    @property
    def info(self) -> ModelInfo:
        from regard.serve.tables import example
        from regard.tasks.base import Run

        if not isinstance(self.loaded, Run):
            kind = type(self.loaded).__name__
            return ModelInfo(kind=kind, task="predict", routes=self.routes, example=example(self.loaded))
        task, config = self.loaded.task, self.loaded.config
        form = task.view_form(config, self.loaded.tokenizer is not None) if task else None
        chat = self.engine is not None and self.engine.chat is not None
        return ModelInfo(
            kind=type(config).__name__,
            task=task.verb if task else "",
            routes=(*self.routes, "chat/completions") if chat else self.routes,
            hint=form.hint if form else "",
            vocab=getattr(config, "vocab", None),
            context=self.engine.context if self.engine else None,
            chat=chat,
        )

    @property
    def busy(self) -> bool:
        return self.asks.busy or (self.engine is not None and self.engine.busy)

    def receive(self, message: Generate | Ask | Cancel) -> None:
        if isinstance(message, Ask):
            self.asks.submit(message)
        elif isinstance(message, Cancel):
            self.asks.cancel(message.id)
            if self.engine is not None:
                self.engine.cancel(message.id)
        else:
            assert self.engine is not None, "the server checks what a model can be asked"
            self.engine.submit(message)

    def tick(self) -> list[Event]:
        events = self.asks.tick()
        if self.engine is not None:
            events += self.engine.tick()
            load: Event = events.pop()
        else:
            load = Load(0, len(self.asks.waiting), 0.0)
        if load != self._load:
            events.append(load)
            self._load = load
        return events


def run_worker(path: Path, limits: Limits, pipe: Connection, precision: str = "auto") -> None:
    """Load the model and answer until the pipe closes; what is run in the process."""
    if current_thread() is main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches every process: the server decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        log_to_stderr()
    with suppress(EOFError, OSError):  # the server is gone
        try:
            worker = Worker(path, limits, precision)
        except UserError as error:
            pipe.send([Broken(str(error))])
            return
        pipe.send([Ready(worker.info)])
        while answer_messages(worker, pipe):
            pass


def answer_messages(worker: Worker, pipe: Connection) -> bool:
    """Take the messages that are there (wait for one if there is nothing to do), then work a little."""
    wait = not worker.busy
    while wait or pipe.poll():
        message, wait = pipe.recv(), False
        if isinstance(message, Stop):
            return False
        worker.receive(message)
    if events := worker.tick():
        pipe.send(events)
    return True
