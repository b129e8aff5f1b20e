"""The one training loop. It knows no model: it sees `task.loss(model, batch)` and the batch of each step."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from regard.core.errors import UserError
from regard.core.machine import best_device, seed_for
from regard.run import Checkpoint, RunFolder, set_weights
from regard.tasks import Batch, Batches, Loss
from regard.train.average import Average
from regard.train.optimise import Optimisers
from regard.train.precision import Precision, choose
from regard.train.ranks import Ranks
from regard.train.screen import Screen
from regard.train.settings import Training
from regard.train.signals import StopRequest

TOO_MANY_BAD = 10  # steps in a row without a finite gradient


@runtime_checkable
class Task(Protocol):
    @property
    def unit(self) -> str:
        """What batches are counted in: tokens, cells, images."""

    def loss(self, model: nn.Module, batch: Any) -> Loss: ...


@dataclass
class Progress:
    """Where a run stands: all of it is in every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    skipped: int = 0  # steps whose gradient was not finite
    bad_in_a_row: int = 0
    best: float | None = None  # lowest validation loss
    best_step: int = 0
    average_updates: int = 0
    threads: int = field(default_factory=torch.get_num_threads)
    torch: str = str(torch.__version__)


@dataclass(frozen=True)
class Report:
    progress: Progress
    loss: float  # of the last step
    stopped_by: int  # number of the signal that ended the run early, or 0


def fit(
    model: nn.Module,
    task: Task,
    data: Batches,
    training: Training,
    folder: RunFolder,
    *,
    valid: Batches | None = None,
    resume: bool = False,
    ranks: Ranks = Ranks(),
) -> Report:
    """Train `model` until the budget is used; the folder then holds its best weights."""
    device = best_device()
    model.to(device)
    steps = training.total_steps(data.steps_per_epoch)
    parameters = sum(p.numel() for p in model.parameters())
    precision = choose(training, parameters, data.batch(0).size, steps, data.fixed_shape, device)
    loop = Loop(model, task, data, training, folder, valid, ranks, precision)
    if resume:
        loop.resume()
    return loop.run()


class Loop:
    def __init__(
        self,
        model: nn.Module,
        task: Task,
        data: Batches,
        training: Training,
        folder: RunFolder,
        valid: Batches | None,
        ranks: Ranks,
        precision: Precision,
    ):
        self.model, self.task, self.data, self.training = model, task, data, training
        self.folder, self.valid, self.ranks, self.precision = folder, valid, ranks, precision
        self.shared = ranks.share(model)
        self.compute: Callable[..., Any] = precision.prepare(self.shared)
        self.optimisers: Optimisers = training.optimiser.build(model)
        self.average = Average(model, training.average) if training.average else None
        self.progress = Progress()
        self.total_steps = training.total_steps(data.steps_per_epoch)
        parts = ranks.world * training.accumulate
        if data.batch(0).rows < parts:
            rows = data.batch(0).rows
            raise UserError(f"a batch of {rows} rows cannot be shared by {parts} ranks and parts; raise training.batch")

    def run(self) -> Report:
        loss = float("nan")
        with ExitStack() as stack:
            stop = stack.enter_context(StopRequest())
            screen = stack.enter_context(Screen(self.ranks.first, self.task.unit, self.precision, self.folder.path))
            self._saved_at = time.monotonic()
            stopped_by = 0
            while self._done() < 1 and not stopped_by:
                loss, stopped_by, size = self._step(stop)
                self._log(screen, loss, size)
                if self.progress.step % self.training.check_every == 0 and self._done() < 1:
                    self._check(screen)
                if time.monotonic() - self._saved_at > 60 * self.training.save_minutes:
                    self._save()
            if stopped_by:
                self._keep_something()
            else:
                self._check(screen)
            self._save()
        return Report(self.progress, loss, stopped_by)

    def _done(self) -> float:
        return self.training.done(self.progress.step, self.progress.seconds, self.data.steps_per_epoch)

    # One step

    def _step(self, stop: StopRequest) -> tuple[float, int, int]:
        """One update from one batch; gives its mean loss, the signal to stop by, and how much was in the batch."""
        began = time.monotonic()
        step, done = self.progress.step, self._done()
        # All random numbers of a step follow from its number, so a resumed run draws the same ones.
        torch.manual_seed(seed_for("step", self.training.seed, step, self.ranks.rank))
        batch = self.data.batch(step)
        self.model.train()
        total, count = self._gradients(batch)
        spent = time.monotonic() - began if self.ranks.first else 0.0  # one clock for all
        total, count, signals, stopping, seconds = self.ranks.add([total, count, stop.signal, bool(stop.signal), spent])
        self._update(count, done)
        self.progress.step += 1
        self.progress.seconds += seconds
        return total / max(count, 1), round(signals / stopping) if stopping else 0, batch.size

    def _gradients(self, batch: Batch) -> tuple[float, float]:
        """Gradients of the summed loss over this rank's parts of the batch; they are divided by the count later."""
        parts = self.ranks.world * self.training.accumulate
        total = count = 0.0
        for number in range(self.training.accumulate):
            part = batch.part(self.ranks.rank + number * self.ranks.world, parts).to(self.precision.device)
            last = number == self.training.accumulate - 1
            with ExitStack() as stack:
                if self.ranks.world > 1 and not last:
                    stack.enter_context(self.shared.no_sync())  # type: ignore[operator]
                with self.precision.context():
                    loss = self.task.loss(self.compute, part)  # type: ignore[arg-type]
                loss.total.backward()
            total, count = total + loss.total.item(), count + loss.terms.item()
        return total, count

    def _update(self, count: float, done: float) -> None:
        """A step of the optimiser, or none where the gradient is not finite."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, self.ranks.world / max(count, 1))
        norm = torch.nn.utils.get_total_norm(gradients)
        if torch.isfinite(norm):
            if self.training.clip is not None:
                torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.training.clip, norm)
            self.optimisers.step(self.training.schedule.share(self.progress.step, done))
            if self.average is not None:
                self.average.update(self.model)
                self.progress.average_updates = self.average.updates
            self.progress.bad_in_a_row = 0
        else:
            self.progress.skipped += 1
            self.progress.bad_in_a_row += 1
        self.optimisers.clear()
        if self.progress.bad_in_a_row >= TOO_MANY_BAD:
            first = self.progress.step - TOO_MANY_BAD + 1
            raise UserError(
                f"{self.folder.path}: the loss or its gradient was not finite in {TOO_MANY_BAD} steps in a row "
                f"({first} to {self.progress.step}); the last checkpoint is intact: lower the rate, or look at the data"
            )

    # Telling and keeping

    def _log(self, screen: Screen, loss: float, size: int) -> None:
        progress, training = self.progress, self.training
        screen.update(progress.step, self.total_steps, self._done(), progress.seconds, loss, size)
        if progress.step % training.log_every == 0 and self.ranks.first:
            rate = training.schedule.share(progress.step - 1, self._done())
            self.folder.log(
                step=progress.step,
                loss=loss,
                rate=rate,
                speed=screen.speed,
                seconds=progress.seconds,
                skipped=progress.skipped,
            )

    def _check(self, screen: Screen) -> None:
        """Validate, and keep the weights where they are the best so far; without validation data the newest are."""
        with ExitStack() as stack:
            if self.average is not None:
                stack.enter_context(self.average.worn_by(self.model))
            loss = (
                evaluate(self.model, self.task, self.valid, self.ranks, self.precision.device) if self.valid else None
            )
            if loss is not None and self.progress.best is not None and not loss < self.progress.best:
                screen.checked(self.progress.step, loss, best=False)
            else:
                self.progress.best, self.progress.best_step = loss, self.progress.step
                with self.ranks.only_first() as first:
                    if first:
                        self.folder.write_weights(self.model.state_dict())
                if loss is not None:
                    screen.checked(self.progress.step, loss, best=True)
        if self.ranks.first and loss is not None:
            self.folder.log(step=self.progress.step, valid=loss, seconds=self.progress.seconds)

    def _keep_something(self) -> None:
        """A run stopped before its first check still leaves weights that can be used."""
        with self.ranks.only_first() as first:
            if first and not self.folder.has_weights:
                self.folder.write_weights(self.average.weights if self.average else self.model.state_dict())

    def _save(self) -> None:
        average = self.average.weights if self.average else None
        with self.ranks.only_first() as first:
            if first:
                state = Checkpoint(vars(self.progress), self.model.state_dict(), self.optimisers.state(), average)
                self.folder.save_checkpoint(state, self.training.keep)
        self._saved_at = time.monotonic()

    def resume(self) -> None:
        """Go on from the newest checkpoint, or from the beginning where there is none."""
        checkpoint = self.folder.load_checkpoint()
        with self.ranks.only_first() as first:
            if first:
                self.folder.forget_metrics_after(checkpoint.progress["step"] if checkpoint else 0)
        if checkpoint is None:
            return
        known = {name: value for name, value in checkpoint.progress.items() if name in vars(self.progress)}
        before, self.progress = self.progress, Progress(**known)
        set_weights(self.model, checkpoint.weights, self.folder.path)
        self.optimisers.set_state(checkpoint.optimiser)
        if self.average is not None and checkpoint.average is not None:
            self.average.set(checkpoint.average, self.progress.average_updates)
        for name in ("threads", "torch"):
            was, now = getattr(self.progress, name), getattr(before, name)
            if was != now and self.ranks.first:
                print(
                    f"note: {name} was {was} and is {now}: the result will be as good, but not the same to the last bit"
                )
        self.progress.threads, self.progress.torch = before.threads, before.torch


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, data: Batches, ranks: Ranks = Ranks(), device: str = "cpu") -> float:
    """Mean loss over one pass of the data."""
    was_training = model.training
    model.eval()
    total = count = 0.0
    for batch in data.once():
        part = batch.part(ranks.rank, ranks.world)
        if part.rows:
            loss = task.loss(model, part.to(device))
            total, count = total + loss.total.item(), count + loss.terms.item()
    model.train(was_training)
    total, count = ranks.add([total, count])
    return total / max(count, 1)
