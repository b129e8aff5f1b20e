"""The cost of one layer by length: time, memory for the backward pass, and sequential steps."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.parts import LSTM, Attention, BigBird, Full, Linformer, MultiHead, Window, listen
from regard.studies.runner.timing import one_thread

WIDTH, HEADS, BATCH, REPEATS = 64, 4, 2, 5
Layer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Cost:
    layer: str
    length: int
    milliseconds: float  # forward and backward
    kibibytes: float  # saved for the backward pass, per text
    sequential_steps: int  # until the last token depends on every other


def attentions(length: int) -> dict[str, Attention]:
    return {
        "full": Full(),
        "window of 16": Window(reach=16),
        "Linformer, 16 slots": Linformer(slots=16, length=length),
        "BigBird, blocks of 16": BigBird(block=16),
    }


def measure_costs(lengths: Sequence[int]) -> list[Cost]:
    costs = []
    with one_thread():
        for length in lengths:
            rnn = LSTM().build(WIDTH, WIDTH, 1, 0.0, bidirectional=False)
            costs.append(Cost("RNN", length, *_measure(lambda x, rnn=rnn: rnn(x)[0], length), length))  # type: ignore[misc]
            for name, attention in attentions(length).items():
                heads = MultiHead(WIDTH, HEADS, attention)
                costs.append(Cost(name, length, *_measure(heads, length), layers_to_connect(heads, length)))
    return costs


def _measure(layer: Layer, length: int) -> tuple[float, float]:
    """The minimum time of several passes (other load only adds), and the KiB saved for the backward pass."""
    x = torch.randn(BATCH, length, WIDTH, requires_grad=True)
    sizes: dict[int, int] = {}

    def record(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return saved

    with torch.autograd.graph.saved_tensors_hooks(record, lambda saved: saved):
        layer(x).sum().backward()
    times = []
    for _ in range(REPEATS):
        start = time.monotonic()
        layer(x).sum().backward()
        times.append(1000 * (time.monotonic() - start))
    return min(times), sum(sizes.values()) / BATCH / 1024


def layers_to_connect(heads: nn.Module, length: int) -> int:
    """The number of layers of this attention after which the last token depends on every other.

    If one layer is enough, the gradient shows it; otherwise the attention pattern is followed from layer to layer.
    """
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    heads(x)[0, -1].sum().backward()
    assert x.grad is not None
    connected = x.grad[0].abs().sum(-1) > 0
    if connected.all():
        return 1
    with torch.no_grad(), listen(heads) as heard:
        heads(x)
    attends = (heard["pattern"][0].sum(0) > 0).float()
    layers, reached = 1, connected.float()
    while not bool(reached.all()):
        further = ((reached @ attends) > 0).float().maximum(reached)
        if torch.equal(further, reached):
            return 0  # never
        layers, reached = layers + 1, further
    return layers
