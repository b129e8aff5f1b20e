"""The one training loop. It knows no model: it sees `task.loss(model, batch)` and the batch of each step."""

import math
import time
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import nn

from regard.core.batches import Batch, Batches
from regard.core.config import from_dict
from regard.core.errors import ConfigError, UserError
from regard.core.machine import best_device, seed_for
from regard.run import Checkpoint, RunFolder, set_weights
from regard.train.average import Average
from regard.train.check import Learnable, Sample, evaluate, sampled
from regard.train.precision import choose
from regard.train.ranks import Ranks
from regard.train.screen import Screen
from regard.train.settings import Training
from regard.train.signals import StopRequest

TOO_MANY_BAD = 10  # steps in a row without a finite loss and gradient


class DivergedError(UserError):
    """The run has come to nothing: no step has a finite loss any more."""

    def __init__(self, message: str, progress: "Progress"):
        super().__init__(message)
        self.progress = progress


@dataclass
class Progress:
    """Where a run stands: all of it is in every checkpoint."""

    step: int = 0
    seconds: float = 0.0  # on the clock, with all that happens between steps
    skipped: int = 0  # steps whose loss or gradient was not finite
    bad_in_a_row: int = 0
    best: float | None = None  # lowest validation loss
    best_step: int = 0  # 0: no weights have been kept yet
    average_updates: int = 0
    threads: int = 0
    torch: str = ""
    precision: str = ""


@dataclass(frozen=True)
class Report:
    progress: Progress
    steps: int  # taken by this process; 0 where the run had ended before
    stopped_by: int  # number of the signal that ended the run early, or 0


class Loop:
    """A run about to be made. Whatever is wrong with its plan is noticed here, before anything is written."""

    def __init__(
        self,
        model: nn.Module,
        task: Learnable,
        data: Batches,
        training: Training,
        folder: RunFolder,
        valid: Batches | None = None,
        ranks: Ranks = Ranks(),
        *,
        sample: Sample | None = None,  # a look at what the model does, logged beside each validation
        speaks: bool = True,
    ):
        self.sample, self.speaks = sample, speaks and ranks.first
        self.model, self.task, self.data, self.training = model.to(best_device()), task, data, training
        self.folder, self.valid, self.ranks = folder, valid, ranks
        batch, parts = data.batch(0), ranks.world * training.accumulate
        if batch.rows < parts:
            raise ConfigError(
                f"training.accumulate: a batch of {batch.rows} rows cannot be shared by {ranks.world} ranks, "
                f"each in {training.accumulate} parts"
            )
        self.total_steps = training.total_steps(data.steps_per_epoch)
        parameters = sum(p.numel() for p in model.parameters())
        tokens_each = getattr(model, "tokens_each", 1)  # of a model that cuts what is counted, such as images
        work = parameters * batch.size * tokens_each
        self.precision = choose(training, work, self.total_steps, fixed_shape=data.fixed_shape, device=best_device())
        self.optimisers = training.optimiser.build(self.model)
        self.average = Average(self.model, training.average) if training.average else None
        self.progress = self._here(Progress())

    @torch.no_grad()
    def rehearse(self) -> None:
        """One row of the first batch: what cannot work, such as a text too long for a table of positions, says so."""
        batch = self.data.batch(0)
        self.task.loss(self.model.eval(), batch.shard(0, batch.rows).to(self.precision.device))

    def run(self) -> Report:
        """Train until the budget is used or somebody asks to stop; the folder then holds the best weights."""
        if self.ended:
            return Report(self.progress, steps=0, stopped_by=0)
        self.ranks.begin_alike(self.model)
        self.precision.prepare(self.model)
        first_step, stopped_by = self.progress.step, 0
        self._began = time.monotonic() - self.progress.seconds
        self._saved = time.monotonic()
        with ExitStack() as stack:
            stop = stack.enter_context(StopRequest())
            screen = stack.enter_context(Screen(self.speaks, self.task.unit, self.precision, self.folder.path))
            while self._done() < 1 and not stopped_by:
                stopped_by, time_to_save = self._step(stop, screen)
                if self.progress.step % self.training.check_every == 0 and self._done() < 1:
                    self._check(screen)
                if time_to_save and self._done() < 1 and not stopped_by:  # the last step is saved once it was checked
                    self._save()
            if stopped_by:
                self._keep_something()
            else:
                self._check(screen)
                stopped_by = int(self.ranks.most(stop.signal))
            self._save()
        return Report(self.progress, self.progress.step - first_step, stopped_by)

    @property
    def ended(self) -> bool:
        """Whether a resumed run has nothing left to do."""
        return self._done() >= 1 and self.folder.has_weights

    def _done(self) -> float:
        return self.training.done(self.progress.step, self.progress.seconds, self.data.steps_per_epoch)

    # One step

    def _step(self, stop: StopRequest, screen: Screen) -> tuple[int, bool]:
        """One update from one batch; gives the signal to stop by, and whether it is time to save."""
        step = self.progress.step
        share = self.training.schedule.share(step, self._done())
        # All random numbers of a step follow from its number, so a resumed run draws the same ones.
        torch.manual_seed(seed_for("step", self.training.seed, step, self.ranks.rank))
        batch = self.data.batch(step)
        self.model.train()
        total, count = self._gradients(batch)
        # The first rank's clock is everybody's, or ranks would disagree about when to save and when to end.
        now = time.monotonic()
        due = now - self._saved > 60 * self.training.save_minutes
        clock = [now - self._began, float(due)] if self.ranks.first else [0.0, 0.0]
        total, count, seconds, time_to_save = self.ranks.add([total, count, *clock])
        stopped_by = int(self.ranks.most(stop.signal))
        self._update(total, count, share)
        self.progress.step, self.progress.seconds = step + 1, seconds
        self._log(screen, total / max(count, 1), share, batch.size, last=bool(stopped_by))
        return stopped_by, bool(time_to_save)

    def _gradients(self, batch: Batch) -> tuple[float, float]:
        """Gradients of the summed loss over this rank's parts of the batch; they are divided by the count later."""
        parts = self.ranks.world * self.training.accumulate
        total = count = 0.0
        for number in range(self.training.accumulate):
            part = batch.shard(self.ranks.rank + number * self.ranks.world, parts).to(self.precision.device)
            with self.precision.context():
                loss = self.task.loss(self.model, part)
            loss.total.backward()
            total, count = total + loss.total.item(), count + loss.terms.item()
        self.ranks.add_gradients(self.model)
        return total, count

    def _update(self, total: float, count: float, share: float) -> None:
        """A step of the optimiser, or none where the loss or its gradient is not finite."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, 1 / max(count, 1))
        norm = nn.utils.get_total_norm(gradients)
        if math.isfinite(total) and torch.isfinite(norm):
            if self.training.clip is not None:
                nn.utils.clip_grads_with_norm_(self.model.parameters(), self.training.clip, norm)
            self.optimisers.step(share)
            if self.average is not None:
                self.average.update(self.model)
                self.progress.average_updates = self.average.updates
            self.progress.bad_in_a_row = 0
        else:
            self.progress.skipped += 1
            self.progress.bad_in_a_row += 1
        self.optimisers.clear()
        if self.progress.bad_in_a_row >= TOO_MANY_BAD:
            self._give_up()

    def _give_up(self) -> None:
        last, kept = self.progress.step + 1, self.folder.checkpoints()
        intact = f"{kept[-1]} is intact" if kept else "no checkpoint had been written"
        raise DivergedError(
            f"{self.folder.path}: the loss or its gradient was not finite in {TOO_MANY_BAD} steps in a row "
            f"({last - TOO_MANY_BAD + 1} to {last}); {intact}: lower the rate, or look at the data",
            self.progress,
        )

    # Telling and keeping

    def _log(self, screen: Screen, loss: float, share: float, size: int, last: bool) -> None:
        progress = self.progress
        screen.update(progress.step, self.total_steps, self._done(), progress.seconds, loss, size)
        if self.ranks.first and (progress.step % self.training.log_every == 0 or last or self._done() >= 1):
            self.folder.log(
                step=progress.step,
                loss=loss,
                rate_share=share,
                **self.optimisers.rates(share),
                speed=screen.speed,
                seconds=progress.seconds,
                skipped=progress.skipped,
            )

    def _check(self, screen: Screen) -> None:
        """Validate, and keep the weights where they are the best so far; without validation data the newest are."""
        with ExitStack() as stack:
            if self.average is not None:
                stack.enter_context(self.average.worn_by(self.model))
            loss, told = None, {}
            if self.valid is not None:
                loss = evaluate(self.model, self.task, self.valid, self.ranks, self.precision.device)
            best = self.progress.best
            better = loss is None or best is None or loss < best
            if better:
                self.progress.best = loss if loss is not None and math.isfinite(loss) else None
                self._keep(self.model.state_dict())
            finite = loss is None or math.isfinite(loss)  # from other numbers nothing can be drawn
            if self.sample is not None and self.ranks.first and finite:
                told["sample"] = sampled(self.model, self.sample)
        if self.ranks.first and loss is not None:
            screen.checked(self.progress.step, loss, best=better)
            self.folder.log(step=self.progress.step, valid=loss, seconds=self.progress.seconds, **told)

    def _keep(self, weights: dict[str, torch.Tensor]) -> None:
        with self.ranks.only_first() as first:
            if first:
                self.folder.write_weights(weights)
        self.progress.best_step = self.progress.step

    def _keep_something(self) -> None:
        """A run stopped before its first check still leaves weights that can be used."""
        with self.ranks.only_first() as first:
            if first and not self.progress.best_step:
                self.folder.write_weights(self.average.weights if self.average else self.model.state_dict())

    def _save(self) -> None:
        average = self.average.weights if self.average else None
        with self.ranks.only_first() as first:
            if first:
                state = Checkpoint(vars(self.progress), self.model.state_dict(), self.optimisers.state(), average)
                self.folder.save_checkpoint(state, self.training.keep)
        self._saved = time.monotonic()

    def resume(self) -> bool:
        """Go on from the newest checkpoint; False where there is none and the run starts from the beginning."""
        checkpoint = self.folder.load_checkpoint()
        progress = from_dict(Progress, checkpoint.progress) if checkpoint else Progress()
        if checkpoint is not None:
            set_weights(self.model, checkpoint.weights, self.folder.path)
            self.optimisers.set_state(checkpoint.optimiser)
            if self.average is not None and checkpoint.average is not None:
                self.average.set(checkpoint.average, progress.average_updates)
        with self.ranks.only_first() as first:
            if first:
                self.folder.forget_metrics_after(progress.step)
                if checkpoint is not None:
                    self._tell_differences(progress)
        self.progress = self._here(progress)
        return checkpoint is not None

    def _here(self, progress: Progress) -> Progress:
        progress.threads, progress.torch = torch.get_num_threads(), str(torch.__version__)
        progress.precision = str(self.precision)
        return progress

    def _tell_differences(self, progress: Progress) -> None:
        for name in ("threads", "torch", "precision"):
            was, now = getattr(progress, name), getattr(self.progress, name)
            if was != now:
                print(
                    f"note: {name}: was {was}, is {now}; the result will be as good, but not the same to the last bit"
                )
