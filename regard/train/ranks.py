"""Ranks: the same command alone or under `torchrun`, where each rank computes its part of every batch.

`Ranks` is the parallel strategy that the loop asks: data parallelism with replicated weights. A sharded strategy would
answer the same questions in its own way.
"""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.core.errors import UserError
from regard.core.tensors import trained_state


class OtherRankError(UserError):
    """Another rank has already reported the error."""


@dataclass(frozen=True)
class Ranks:
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Whether this rank writes files and messages."""
        return self.rank == 0

    # The model

    def prepare(self, model: nn.Module) -> None:
        """Start every rank from the weights of the first."""
        if self.world > 1:
            for tensor in (*model.parameters(), *model.buffers()):
                dist.broadcast(tensor.detach(), 0)

    def reduce_gradients(self, model: nn.Module) -> None:
        """Sum each gradient over all ranks, in one message; ranks may have used different parts of the model."""
        if self.world == 1:
            return
        parameters = [p for p in model.parameters() if p.requires_grad]
        used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.float32)
        message = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([used.to(message[0].device), *(part.flatten() for part in message)])
        dist.all_reduce(flat)
        used, *sums = flat.split([len(parameters), *(part.numel() for part in message)])
        for p, part, users in zip(parameters, sums, used.tolist(), strict=True):
            p.grad = part.view_as(p) if users else None

    def gradient_norm(self, gradients: Sequence[Tensor]) -> Tensor:
        return nn.utils.get_total_norm(gradients)

    def weights(self, model: nn.Module) -> dict[str, Tensor]:
        """All that is trained of the model, as it is saved."""
        return trained_state(model)

    # Numbers

    def sum(self, values: list[float]) -> list[float]:
        """Each value summed over all ranks."""
        if self.world == 1:
            return values
        totals = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(totals)
        return totals.tolist()

    def max(self, value: float) -> float:
        """The largest value of any rank."""
        if self.world == 1:
            return value
        largest = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return largest.item()

    @contextmanager
    def first_only(self) -> Iterator[bool]:
        """True on the first rank; the others wait until it has finished, and fail if it failed."""
        if self.world == 1:
            yield True
            return
        failed = 1.0
        try:
            yield self.first
            failed = 0.0
        finally:
            if self.sum([failed])[0] and not failed:
                raise OtherRankError


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """The ranks that `torchrun` started, or a single one."""
    world = os.environ.get("WORLD_SIZE", "1")
    if world == "1":
        yield Ranks()
        return
    if not world.isdigit() or "RANK" not in os.environ:
        raise UserError(f"WORLD_SIZE is {world!r}, but torchrun did not start this process: unset it, or use torchrun")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    _connect()
    try:
        yield Ranks(dist.get_rank(), int(world))
    except RuntimeError as error:
        if "gloo" in str(error):  # the connection to a rank that was killed
            raise OtherRankError from error
        raise
    finally:
        gc.collect()
        dist.destroy_process_group()


def _connect() -> None:
    """Meet the other ranks; one that cannot reach them says where it tried."""
    try:
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    except (RuntimeError, ValueError) as error:
        place = f"{os.environ.get('MASTER_ADDR', '?')}:{os.environ.get('MASTER_PORT', '?')}"
        reason = str(error).splitlines()[0]
        raise UserError(
            f"rank {os.environ['RANK']} cannot connect to the other ranks at {place} ({reason}); "
            "start all of them with torchrun, and again together after one has failed"
        ) from error
