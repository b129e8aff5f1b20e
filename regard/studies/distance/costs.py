"""What it costs to mix a text of a given length once: time, memory, and steps that must wait for each other."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.parts import LSTM, Attention, BigBird, Full, Linformer, MultiHead, Window, listen
from regard.studies.runner.timing import one_thread

WIDTH, HEADS, BATCH, TIMES = 64, 4, 2, 5
Mixer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Cost:
    kind: str
    length: int
    milliseconds: float  # there and back
    kibibytes: float  # kept for the way back, for each text
    waiting: int  # steps in a row until the last token has heard of every other


def attentions(length: int) -> dict[str, Attention]:
    return {
        "full": Full(),
        "window of 16": Window(reach=16),
        "Linformer, 16 slots": Linformer(slots=16, length=length),
        "BigBird, blocks of 16": BigBird(block=16),
    }


def measure_costs(lengths: Sequence[int]) -> list[Cost]:
    found = []
    with one_thread():
        for length in lengths:
            cells = LSTM().build(WIDTH, WIDTH, 1, 0.0, bidirectional=False)
            found.append(Cost("RNN", length, *_measure(lambda x, cells=cells: cells(x)[0], length), length))  # type: ignore[misc]
            for kind, attention in attentions(length).items():
                heads = MultiHead(WIDTH, HEADS, attention)
                found.append(Cost(kind, length, *_measure(heads, length), layers_to_meet(heads, length)))
    return found


def _measure(mix: Mixer, length: int) -> tuple[float, float]:
    """The least milliseconds of several (neighbours only add to them), and kibibytes kept for the way back."""
    x = torch.randn(BATCH, length, WIDTH, requires_grad=True)
    kept: dict[int, int] = {}

    def keep(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        mix(x).sum().backward()
    taken = []
    for _ in range(TIMES):
        began = time.monotonic()
        mix(x).sum().backward()
        taken.append(1000 * (time.monotonic() - began))
    return min(taken), sum(kept.values()) / BATCH / 1024


def layers_to_meet(heads: nn.Module, length: int) -> int:
    """How many layers of this attention it takes until the last token has heard of every other.

    Where one layer is enough the gradient shows it; else who looks at whom is followed from layer to layer.
    """
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    heads(x)[0, -1].sum().backward()
    assert x.grad is not None
    heard = x.grad[0].abs().sum(-1) > 0
    if heard.all():
        return 1
    with torch.no_grad(), listen(heads) as watched:
        heads(x)
    looks = (watched["pattern"][0].sum(0) > 0).float()
    layers, reached = 1, heard.float()
    while not bool(reached.all()):
        further = ((reached @ looks) > 0).float().maximum(reached)
        if torch.equal(further, reached):
            return 0  # never
        layers, reached = layers + 1, further
    return layers
