"""What the trainer asks of a model's modules: which layers repeat, what Muon leaves alone, what follows a step.

`train` imports no part and no model; parts say these things of themselves by inheriting from the classes below.
"""

from collections.abc import Callable

from torch import nn

SumOverRanks = Callable[[list[float]], list[float]]


class RepeatedBlock(nn.Module):
    """A layer of which a model has many alike: each is compiled by itself, and Muon takes its matrices."""


class AdamWOnly:
    """A linear layer inside a block whose matrix Muon leaves to AdamW, such as the router of a mixture of experts."""


class UpdatedAfterStep(nn.Module):
    """A module that changes once for each step of the optimiser, from what it has counted in the forward passes.

    Ranks may run different numbers of forward passes, so that nothing is communicated there: only here, once a step.
    """

    def after_step(self, sum_over_ranks: SumOverRanks) -> None:
        raise NotImplementedError("abstract: what changes after a step")


def after_step(model: nn.Module, sum_over_ranks: SumOverRanks = list) -> None:
    """Call this after every step of the optimiser, on every rank; by itself a process has nothing to sum."""
    for module in model.modules():
        if isinstance(module, UpdatedAfterStep):
            module.after_step(sum_over_ranks)
