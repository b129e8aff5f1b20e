"""Ranks: the same command alone or under `torchrun`, where each rank computes its share of every batch."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

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

    def begin_alike(self, model: nn.Module) -> None:
        """Every rank takes the weights of the first."""
        if self.world > 1:
            for tensor in (*model.parameters(), *model.buffers()):
                dist.broadcast(tensor.detach(), 0)

    def add_gradients(self, model: nn.Module) -> None:
        """Each gradient summed over all ranks, in one message; ranks may have used different parts of the model."""
        if self.world == 1:
            return
        parameters = [p for p in model.parameters() if p.requires_grad]
        used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.float32)
        message = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        together = torch.cat([used.to(message[0].device), *(part.flatten() for part in message)])
        dist.all_reduce(together)
        used, *sums = together.split([len(parameters), *(part.numel() for part in message)])
        for p, part, users in zip(parameters, sums, used.tolist(), strict=True):
            p.grad = part.view_as(p) if users else None

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
