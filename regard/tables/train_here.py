"""Training that leaves nothing behind but the model: what a table needs on the way to an answer."""

from torch import nn

from regard.core.batches import Batches, Objective
from regard.train import Loop, MemoryKeeper, Training


def train_here(
    model: nn.Module, task: Objective, data: Batches, training: Training, valid: Batches | None = None
) -> None:
    """Train the model in place; it ends with the best weights, in evaluation mode. No file is written."""
    keeper = MemoryKeeper()
    report = Loop(model, task, data, training, keeper, valid).run()
    if report.stopped_by:  # the loop has ended well, but whoever pressed Ctrl-C wants no half-trained table
        raise KeyboardInterrupt
    model.load_state_dict(keeper.weights)
    model.cpu().eval()
