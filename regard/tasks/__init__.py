"""The tasks. `Task` is their table: the run folder and the trainer read it."""

from regard.tasks.base import Batch, Batches, Loss
from regard.tasks.translate import Translate

Task = Translate

__all__ = ["Batch", "Batches", "Loss", "Task", "Translate"]
