"""Evaluation during training: the mean loss over validation data, and a sample of what the model produces by now."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest

import torch
from torch import nn

from regard.core.batches import Batches, CountsErrors, Objective
from regard.core.compiling import eager_mode
from regard.core.machine import device_of
from regard.train.ranks import Ranks

Sample = Callable[[nn.Module], str]  # a short text that shows what a model does


def evaluate(model: nn.Module, task: Objective, data: Batches, ranks: Ranks = Ranks()) -> float:
    """Mean loss over one pass of the data, computed on the model's own device."""
    return loss_and_error_rate(model, task, data, ranks)[0]


def loss_and_error_rate(
    model: nn.Module, task: Objective, data: Batches, ranks: Ranks = Ranks()
) -> tuple[float, float | None]:
    """Mean loss over one pass of the data, and the fraction of errors where the task counts them."""
    device, totals = device_of(model), [0.0] * 4
    with torch.no_grad(), evaluation_mode(model):
        for batch in data.once():
            part = batch.shard(ranks.rank, ranks.world)
            if part.rows:
                here = part.to(device)
                both = (
                    task.loss_and_errors(model, here) if isinstance(task, CountsErrors) else (task.loss(model, here),)
                )
                values = [number.item() for loss in both for number in loss]
                totals = [total + value for total, value in zip_longest(totals, values, fillvalue=0.0)]
    total, count, errors, terms = ranks.sum(totals)
    return total / max(count, 1), errors / terms if terms else None


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
