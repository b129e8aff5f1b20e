"""Ranks: the same command alone or under `torchrun`, where each rank computes its share of every batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


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

    def from_first(self, tensor: Tensor) -> Tensor:
        if self.world > 1:
            dist.broadcast(tensor, 0)
        return tensor

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
                raise RuntimeError("another rank failed; its message says why")


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """The ranks that `torchrun` started, or the one that nobody did."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Ranks()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Ranks(dist.get_rank(), world)
    finally:
        dist.destroy_process_group()
