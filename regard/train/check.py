"""A check: the mean loss over data that is not learned from, and a sample of what the model does by now."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from regard.core.batches import Batches, Loss
from regard.train.ranks import Ranks

Sample = Callable[[nn.Module], str]  # a few words of what a model does, whatever that is


@runtime_checkable
class Learnable(Protocol):
    """All that the loop asks of a task."""

    @property
    def unit(self) -> str:
        """What batches are counted in: tokens, cells, images."""

    def loss(self, model: nn.Module, batch: Any) -> Loss: ...


def evaluate(model: nn.Module, task: Learnable, data: Batches, ranks: Ranks = Ranks(), device: str = "cpu") -> float:
    """Mean loss over one pass of the data."""
    total = count = 0.0
    with torch.no_grad(), _at_rest(model):
        for batch in data.once():
            part = batch.shard(ranks.rank, ranks.world)
            if part.rows:
                loss = task.loss(model, part.to(device))
                total, count = total + loss.total.item(), count + loss.terms.item()
    total, count = ranks.add([total, count])
    return total / max(count, 1)


def sampled(model: nn.Module, sample: Sample) -> str:
    """The sample; whatever it draws by lot, the run's own random numbers stay as they were."""
    with torch.inference_mode(), torch.random.fork_rng(), _at_rest(model):
        return sample(model)


@contextmanager
def _at_rest(model: nn.Module) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        with torch.compiler.set_stance("force_eager"):  # other shapes than in training: not worth compiling for
            yield
    finally:
        model.train(was_training)
