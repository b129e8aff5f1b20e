"""Ranks: the same command alone or under `torchrun`, where each rank computes its share of every batch."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from regard.core.errors import UserError


class OtherRankError(UserError):
    """Another rank has said why already."""


@dataclass(frozen=True)
class Ranks:
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """The one that writes and speaks."""
        return self.rank == 0

    def share(self, model: nn.Module) -> nn.Module:
        """The model whose gradients are averaged over all ranks."""
        return DistributedDataParallel(model) if self.world > 1 else model

    def add(self, values: list[float]) -> list[float]:
        """Each value summed over all ranks."""
        if self.world == 1:
            return values
        together = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(together)
        return together.tolist()

    def most(self, value: float) -> float:
        """The largest value of any rank."""
        if self.world == 1:
            return value
        largest = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return largest.item()

    @contextmanager
    def only_first(self) -> Iterator[bool]:
        """True on the first rank; the others wait until it has done, and fail if it failed."""
        if self.world == 1:
            yield True
            return
        failed = 1.0
        try:
            yield self.first
            failed = 0.0
        finally:
            if self.add([failed])[0] and not failed:
                raise OtherRankError


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """The ranks that `torchrun` started, or the one that nobody did."""
    world = os.environ.get("WORLD_SIZE", "1")
    if world == "1":
        yield Ranks()
        return
    if not world.isdigit() or "RANK" not in os.environ:
        raise UserError(f"WORLD_SIZE is {world!r}, but torchrun did not start this process: unset it, or use torchrun")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Ranks(dist.get_rank(), int(world))
    except RuntimeError as error:
        if "gloo" in str(error):  # the connection to a rank that was killed
            raise OtherRankError from error
        raise
    finally:
        gc.collect()
        dist.destroy_process_group()
