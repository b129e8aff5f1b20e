"""Training that leaves only the model: nothing is written to disk."""

from torch import nn

from regard.core.batches import Batches, Objective
from regard.train import Loop, MemoryKeeper, Training


def train_in_memory(
    model: nn.Module, task: Objective, data: Batches, training: Training, valid: Batches | None = None
) -> None:
    """Train the model in place; it ends with the best weights, in evaluation mode. No file is written."""
    keeper = MemoryKeeper()
    report = Loop(model, task, data, training, keeper, valid).run()
    if report.stopped_by:  # after Ctrl-C the loop ends normally, but a half-trained table is of no use
        raise KeyboardInterrupt
    model.load_state_dict(keeper.weights)
    model.cpu().eval()
