"""What a training run can be told."""

import math
from dataclasses import dataclass
from typing import Literal

from regard.core.errors import ConfigError, at_least, share
from regard.train.optimise import AdamW, Optimiser
from regard.train.schedule import Cosine, Schedule


@dataclass(frozen=True, kw_only=True)
class Training:
    """The budget is in steps, epochs or minutes; where several are given, the first to run out ends the run."""

    batch: int = 64  # rows in a step, over all ranks and parts
    steps: int | None = None
    epochs: float | None = None
    fewest: int = 0  # steps, however few make up the epochs: a small file needs many passes
    minutes: float | None = None
    optimiser: Optimiser = AdamW()
    schedule: Schedule = Cosine()
    clip: float | None = 1.0  # longest gradient; None: as it comes
    accumulate: int = 1  # parts that a step's batch is cut into, to save memory
    average: float = 0.0  # decay of the running mean of the weights; 0: none
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    compile: Literal["auto", "always", "never"] = "auto"
    seed: int = 0
    log_every: int = 20  # steps
    check_every: int = 200  # steps between validations
    save_minutes: float = 1.0  # between checkpoints
    keep: int = 2  # checkpoints

    def __post_init__(self) -> None:
        at_least(1, batch=self.batch, accumulate=self.accumulate, log_every=self.log_every, keep=self.keep)
        at_least(1, check_every=self.check_every, steps=self.steps)
        at_least(0, fewest=self.fewest)
        for name in ("epochs", "minutes", "clip", "save_minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name}: must be more than 0 and finite, not {value}")
        if self.steps is None and self.epochs is None and self.minutes is None:
            raise ConfigError("steps, epochs or minutes: one of them must say when training ends")
        share(average=self.average)
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed: must be at least 0 and below 2**63, not {self.seed}")

    def total_steps(self, steps_per_epoch: int) -> int | None:
        """The last step where the budget fixes one; None where only the clock does."""
        limits = [] if self.steps is None else [self.steps]
        if self.epochs is not None:
            limits.append(max(1, self.fewest, round(self.epochs * steps_per_epoch)))
        return min(limits) if limits else None

    def done(self, step: int, seconds: float, steps_per_epoch: int) -> float:
        """The share of the budget that is used, 0 to 1."""
        total = self.total_steps(steps_per_epoch)
        shares = [] if total is None else [step / total]
        if self.minutes is not None:
            shares.append(seconds / (60 * self.minutes))
        return min(1.0, max(shares))
