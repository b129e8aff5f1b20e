"""The one training loop. It knows no model, task or folder: only `task.loss(model, batch)`, batches and a keeper."""

import logging
import math
import time
from contextlib import ExitStack

import torch
from torch import nn

from regard.core.batches import Batch, Batches, GivesLogits, Loss, Objective
from regard.core.config import from_dict
from regard.core.errors import ConfigError
from regard.core.machine import best_device, seed_for
from regard.core.modules import after_step
from regard.core.tensors import load_weights
from regard.train.display import Display
from regard.train.ema import EMA
from regard.train.evaluate import Sample, loss_and_error_rate, sampled
from regard.train.keeper import Checkpoint, Keeper
from regard.train.precision import choose
from regard.train.progress import DivergedError, Progress, Report
from regard.train.r_drop import r_drop_loss
from regard.train.ranks import Ranks
from regard.train.settings import Training
from regard.train.signals import StopRequest

TOO_MANY_BAD = 10  # steps in a row without a finite loss and gradient

log = logging.getLogger(__name__)


class Loop:
    """A training run. Whatever is wrong with its settings is noticed here, before anything is written."""

    def __init__(
        self,
        model: nn.Module,
        task: Objective,
        data: Batches,
        training: Training,
        keeper: Keeper,
        valid: Batches | None = None,
        ranks: Ranks = Ranks(),
        sample: Sample | None = None,  # logged beside each validation loss
    ):
        self.model, self.task, self.data, self.training = model.to(best_device()), task, data, training
        self.keeper, self.valid, self.ranks, self.sample = keeper, valid, ranks, sample
        batch, parts = data.batch(0), ranks.world * training.accumulation
        if batch.rows < parts:
            raise ConfigError(
                f"training.accumulation: a batch of {batch.rows} rows cannot be shared by {ranks.world} ranks, "
                f"each in {training.accumulation} parts"
            )
        if training.r_drop and not isinstance(task, GivesLogits):
            raise ConfigError(
                f"training.r_drop: {type(task).__name__} has no predictions to compare; remove the setting"
            )
        self.total_steps = training.total_steps(data.steps_per_epoch)
        parameters = sum(p.numel() for p in model.parameters())
        tokens_each = getattr(model, "tokens_each", 1)  # of a model that splits the unit, such as images into patches
        work = parameters * batch.size * tokens_each
        self.precision = choose(training, work, self.total_steps, fixed_shape=data.fixed_shape, device=best_device())
        self.optimisers = training.optimiser.build(self.model)
        self.ema = EMA(self.model, training.ema) if training.ema else None
        self.progress = self._with_machine(Progress())

    @torch.no_grad()
    def rehearse(self) -> None:
        """One row of the first batch: what cannot work, such as a text longer than the position table, fails here."""
        batch = self.data.batch(0)
        self.task.loss(self.model.eval(), batch.shard(0, batch.rows).to(self.precision.device))

    def run(self) -> Report:
        """Train until the budget is used up or a signal asks to stop; the keeper then has the best weights."""
        if self.ended:
            return Report(self.progress, steps=0, stopped_by=0)
        self.ranks.prepare(self.model)
        self.precision.prepare(self.model)
        first_step, stopped_by = self.progress.step, 0
        self._started = time.monotonic() - self.progress.seconds
        self._saved = time.monotonic()
        with ExitStack() as stack:
            stop = stack.enter_context(StopRequest(saved=self.keeper.title is not None))
            title = self.keeper.title if self.ranks.first else None
            display = stack.enter_context(Display(title, self.task.unit, str(self.precision)))
            while self._done() < 1 and not stopped_by:
                stopped_by, time_to_save = self._step(stop, display)
                if self.progress.step % self.training.eval_every == 0 and self._done() < 1:
                    self._evaluate(display)
                if time_to_save and self._done() < 1 and not stopped_by:  # the last step is saved after its evaluation
                    self._save()
            if stopped_by:
                self._keep_some_weights()
            else:
                self._evaluate(display)
                stopped_by = int(self.ranks.max(stop.signal))
            self._save()
        return Report(self.progress, self.progress.step - first_step, stopped_by)

    @property
    def ended(self) -> bool:
        """Whether a resumed run has nothing left to do."""
        return self._done() >= 1 and self.keeper.has_weights

    def _done(self) -> float:
        return self.training.done(self.progress.step, self.progress.seconds, self.data.steps_per_epoch)

    # One step

    def _step(self, stop: StopRequest, display: Display) -> tuple[int, bool]:
        """One update from one batch; returns the signal to stop by, and whether it is time to save."""
        step = self.progress.step
        multiplier = self.training.schedule.multiplier(step, self._done())
        # The random numbers of a step follow from its number, so a resumed run draws the same ones.
        torch.manual_seed(seed_for("step", self.training.seed, step, self.ranks.rank))
        batch = self.data.batch(step)
        self.model.train()
        total, count = self._gradients(batch)
        # The first rank's clock counts for all, or ranks would disagree about when to save and when to end.
        now = time.monotonic()
        due = now - self._saved > 60 * self.training.checkpoint_minutes
        clock = [now - self._started, float(due)] if self.ranks.first else [0.0, 0.0]
        total, count, seconds, time_to_save = self.ranks.sum([total, count, *clock])
        stopped_by = int(self.ranks.max(stop.signal))
        self._update(total, count, multiplier)
        after_step(self.model, self.ranks.sum)
        self.progress.step, self.progress.seconds = step + 1, seconds
        self._log(display, total / max(count, 1), multiplier, batch.size, last=bool(stopped_by))
        return stopped_by, bool(time_to_save)

    def _gradients(self, batch: Batch) -> tuple[float, float]:
        """Gradients of the summed loss over this rank's parts of the batch; they are divided by the count later."""
        parts = self.ranks.world * self.training.accumulation
        total = count = 0.0
        for number in range(self.training.accumulation):
            part = batch.shard(self.ranks.rank + number * self.ranks.world, parts).to(self.precision.device)
            with self.precision.context():
                loss = self._loss(part)
            loss.total.backward()
            total, count = total + loss.total.item(), count + loss.terms.item()
        self.ranks.reduce_gradients(self.model)
        return total, count

    def _loss(self, batch: Batch) -> Loss:
        if self.training.r_drop and isinstance(self.task, GivesLogits):
            return r_drop_loss(self.task, self.model, batch, self.training.r_drop)
        return self.task.loss(self.model, batch)

    def _update(self, total: float, count: float, multiplier: float) -> None:
        """A step of the optimiser; skipped where the loss or its gradient is not finite."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, 1 / max(count, 1))
        norm = self.ranks.gradient_norm(gradients)
        if math.isfinite(total) and torch.isfinite(norm):
            if self.training.grad_clip is not None:
                nn.utils.clip_grads_with_norm_(self.model.parameters(), self.training.grad_clip, norm)
            self.optimisers.step(multiplier)
            if self.ema is not None:
                self.ema.update(self.model)
                self.progress.ema_updates = self.ema.updates
            self.progress.bad_in_a_row = 0
        else:
            self.progress.skipped += 1
            self.progress.bad_in_a_row += 1
        self.optimisers.clear()
        if self.progress.bad_in_a_row >= TOO_MANY_BAD:
            self._give_up()

    def _give_up(self) -> None:
        last, checkpoints = self.progress.step + 1, self.keeper.checkpoints()
        intact = f"{checkpoints[-1]} is intact" if checkpoints else "no checkpoint had been written"
        name = f"{self.keeper.title}: " if self.keeper.title else ""
        raise DivergedError(
            f"{name}the loss or its gradient was not finite in {TOO_MANY_BAD} steps in a row "
            f"({last - TOO_MANY_BAD + 1} to {last}); {intact}: lower the learning rate, or check the data",
            self.progress,
        )

    # Logging and keeping

    def _log(self, display: Display, loss: float, multiplier: float, size: int, last: bool) -> None:
        progress = self.progress
        display.update(progress.step, self.total_steps, self._done(), progress.seconds, loss, size)
        if self.ranks.first and (progress.step % self.training.log_every == 0 or last or self._done() >= 1):
            self.keeper.log(
                step=progress.step,
                loss=loss,
                lr_multiplier=multiplier,
                **self.optimisers.learning_rates(multiplier),
                speed=display.speed,
                seconds=progress.seconds,
                skipped=progress.skipped,
            )

    def _evaluate(self, display: Display) -> None:
        """Validate, and keep the weights if they are the best so far; without validation data the newest are."""
        with ExitStack() as stack:
            if self.ema is not None:
                stack.enter_context(self.ema.applied_to(self.model))
            loss, error, sample = None, None, {}
            if self.valid is not None:
                loss, error = loss_and_error_rate(self.model, self.task, self.valid, self.ranks)
            better = self._is_better(loss, error)
            if better:
                self._keep_weights()
            finite = loss is None or math.isfinite(loss)  # nothing can be sampled from other numbers
            if self.sample is not None and self.ranks.first and finite:
                sample["sample"] = sampled(self.model, self.sample)
        if self.ranks.first and loss is not None:
            display.validated(self.progress.step, loss, error, best=better)
            errors = {} if error is None else {"valid_error": error}
            self.keeper.log(step=self.progress.step, valid=loss, seconds=self.progress.seconds, **errors, **sample)

    def _is_better(self, loss: float | None, error: float | None) -> bool:
        """Whether these are the best weights so far: by their errors where the task counts them, and by their loss."""
        progress = self.progress
        lowest = loss is None or progress.best is None or loss < progress.best
        if lowest:
            progress.best = loss if loss is not None and math.isfinite(loss) else None
        if loss is None or error is None or not math.isfinite(loss):
            return lowest
        best = (progress.best_error, progress.best_error_loss)
        better = None in best or (error, loss) < best
        if better:
            progress.best_error, progress.best_error_loss = error, loss
        return better

    def _keep_weights(self) -> None:
        weights = self.ranks.weights(self.model)
        with self.ranks.first_only() as first:
            if first:
                self.keeper.write_weights(weights)
        self.progress.best_step = self.progress.step

    def _keep_some_weights(self) -> None:
        """A run that is stopped before its first evaluation still leaves usable weights."""
        weights = self.ranks.weights(self.model)
        with self.ranks.first_only() as first:
            if first and not self.progress.best_step:
                self.keeper.write_weights(self.ema.weights if self.ema else weights)

    def _save(self) -> None:
        ema = self.ema.weights if self.ema else None
        weights = self.ranks.weights(self.model)
        with self.ranks.first_only() as first:
            if first:
                state = Checkpoint(vars(self.progress), weights, self.optimisers.state(), ema)
                self.keeper.save_checkpoint(state, self.training.keep_checkpoints)
        self._saved = time.monotonic()

    def resume(self) -> bool:
        """Continue from the newest checkpoint; False where there is none and the run starts from the beginning."""
        checkpoint = self.keeper.load_checkpoint()
        progress = from_dict(Progress, checkpoint.progress) if checkpoint else Progress()
        if checkpoint is not None:
            load_weights(self.model, checkpoint.weights, self.keeper.title)
            self.optimisers.load_state(checkpoint.optimiser)
            if self.ema is not None and checkpoint.ema is not None:
                self.ema.restore(checkpoint.ema, progress.ema_updates)
        with self.ranks.first_only() as first:
            if first:
                self.keeper.forget_metrics_after(progress.step)
                if checkpoint is not None:
                    self._log_differences(progress)
        self.progress = self._with_machine(progress)
        return checkpoint is not None

    def _with_machine(self, progress: Progress) -> Progress:
        progress.threads, progress.torch = torch.get_num_threads(), str(torch.__version__)
        progress.precision = str(self.precision)
        return progress

    def _log_differences(self, progress: Progress) -> None:
        for name in ("threads", "torch", "precision"):
            was, now = getattr(progress, name), getattr(self.progress, name)
            if was != now:
                log.info("note: %s was %s and is %s: the result will not be the same to the last bit", name, was, now)
