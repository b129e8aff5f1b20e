"""Evaluation during training: the mean loss over validation data, and a sample of what the model produces by now."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from regard.core.batches import Batches, Objective
from regard.core.compiling import eager_mode
from regard.core.machine import device_of
from regard.train.ranks import Ranks

Sample = Callable[[nn.Module], str]  # a short text that shows what a model does


def evaluate(model: nn.Module, task: Objective, data: Batches, ranks: Ranks = Ranks()) -> float:
    """Mean loss over one pass of the data, computed on the model's own device."""
    device, total, count = device_of(model), 0.0, 0.0
    with torch.no_grad(), evaluation_mode(model):
        for batch in data.once():
            part = batch.shard(ranks.rank, ranks.world)
            if part.rows:
                loss = task.loss(model, part.to(device))
                total, count = total + loss.total.item(), count + loss.terms.item()
    total, count = ranks.sum([total, count])
    return total / max(count, 1)


def sampled(model: nn.Module, sample: Sample) -> str:
    """The sample; the random state of the run stays as it was."""
    with torch.inference_mode(), torch.random.fork_rng(), evaluation_mode(model):
        return sample(model)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        with eager_mode():  # other shapes than in training: not worth a compilation
            yield
    finally:
        model.train(was_training)
