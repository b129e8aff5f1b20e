"""Training that leaves nothing behind but the model: what a table needs on the way to an answer."""

import tempfile
from pathlib import Path

from torch import nn

from regard.core import tensors
from regard.store import WEIGHTS, RunFolder
from regard.tasks import Batches
from regard.train import Loop, Training
from regard.core.batches import Objective


def train_here(
    model: nn.Module, task: Learnable, data: Batches, training: Training, valid: Batches | None = None
) -> None:
    """Train the model in place; it then has the weights that were kept, and is ready to answer."""
    with tempfile.TemporaryDirectory() as place, RunFolder(Path(place) / "run").open() as folder:
        report = Loop(model, task, data, training, folder, valid, speaks=False).run()
        if report.stopped_by:  # the loop has ended well, but whoever pressed Ctrl-C wants no half-learned table
            raise KeyboardInterrupt
        model.cpu().load_state_dict(tensors.load(folder.path / WEIGHTS))
    model.eval()
