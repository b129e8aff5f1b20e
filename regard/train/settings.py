"""The settings of a training run."""

import math
from dataclasses import dataclass
from typing import Literal

from regard.core.errors import ConfigError, at_least, not_negative, share
from regard.train.optimisers import AdamW, Optimiser
from regard.train.schedules import Cosine, Schedule


@dataclass(frozen=True, kw_only=True)
class Training:
    """The budget is given in steps, epochs or minutes; of several, the first to be used up ends the run."""

    batch_size: int = 64  # rows of a step, over all ranks and accumulated parts
    steps: int | None = None
    epochs: float | None = None
    min_steps: int = 0  # at least this many steps, however few the epochs amount to: a small file needs many passes
    minutes: float | None = None
    optimiser: Optimiser = AdamW()
    schedule: Schedule = Cosine()
    grad_clip: float | None = 1.0  # largest norm of the gradient; None: no clipping
    accumulation: int = 1  # parts that a step's batch is split into, to save memory
    ema: float = 0.0  # decay of the exponential moving average of the weights; 0: none
    r_drop: float = 0.0  # weight of R-Drop: reads every batch twice and pulls both predictions together; 0: none
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    compile: Literal["auto", "always", "never"] = "auto"
    seed: int = 0
    log_every: int = 20  # steps
    eval_every: int = 200  # steps between evaluations on the validation data
    checkpoint_minutes: float = 1.0  # between checkpoints
    keep_checkpoints: int = 2

    def __post_init__(self) -> None:
        at_least(1, batch_size=self.batch_size, accumulation=self.accumulation, log_every=self.log_every)
        at_least(1, keep_checkpoints=self.keep_checkpoints, eval_every=self.eval_every, steps=self.steps)
        at_least(0, min_steps=self.min_steps)
        for name in ("epochs", "minutes", "grad_clip", "checkpoint_minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name}: must be more than 0 and finite, not {value}")
        if self.steps is None and self.epochs is None and self.minutes is None:
            raise ConfigError("steps, epochs or minutes: one of them must say when training ends")
        share(ema=self.ema)
        not_negative(r_drop=self.r_drop)
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed: must be at least 0 and below 2**63, not {self.seed}")

    def total_steps(self, steps_per_epoch: int) -> int | None:
        """The last step where the budget determines it; None where only the clock does."""
        limits = [] if self.steps is None else [self.steps]
        if self.epochs is not None:
            limits.append(max(1, self.min_steps, round(self.epochs * steps_per_epoch)))
        return min(limits) if limits else None

    def done(self, step: int, seconds: float, steps_per_epoch: int) -> float:
        """The fraction of the budget that is used, 0 to 1."""
        total = self.total_steps(steps_per_epoch)
        fractions = [] if total is None else [step / total]
        if self.minutes is not None:
            fractions.append(seconds / (60 * self.minutes))
        return min(1.0, max(fractions))
