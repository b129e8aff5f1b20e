"""Where a run stands, and how it ended."""

from dataclasses import dataclass

from regard.core.errors import UserError


@dataclass
class Progress:
    """Everything a checkpoint says about a run besides its tensors."""

    step: int = 0
    seconds: float = 0.0  # wall-clock time, with everything that happens between steps
    skipped: int = 0  # steps whose loss or gradient was not finite
    bad_in_a_row: int = 0
    best: float | None = None  # lowest validation loss
    best_step: int = 0  # of the weights in the run folder; 0: there are none yet
    best_error: float | None = None  # validation error rate of these weights, where the task counts errors
    best_error_loss: float | None = None  # and their validation loss
    ema_updates: int = 0
    threads: int = 0
    torch: str = ""
    precision: str = ""


@dataclass(frozen=True)
class Report:
    progress: Progress
    steps: int  # taken by this process; 0 where the run had already ended
    stopped_by: int  # number of the signal that ended the run early, or 0


class DivergedError(UserError):
    """Training has diverged: steps no longer have a finite loss."""

    def __init__(self, message: str, progress: Progress):
        super().__init__(message)
        self.progress = progress
