"""Taps: look inside a model while it runs, without changing what it answers.

with listen(model) as heard:
    model(batch)
heard["decoder.3.cross.pattern"]        # batch, heads, target, source
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Tap(nn.Module):
    """A named place where somebody may listen. Unwatched it costs nothing: a model asks before it builds a pattern."""

    def __init__(self) -> None:
        super().__init__()
        self._listeners: list[Callable[[Tensor], None]] = []

    @property
    def watched(self) -> bool:
        return bool(self._listeners)

    def forward(self, value: Tensor) -> None:
        for listener in self._listeners:
            listener(value)


class Heard(dict[str, Tensor]):
    """What was heard, by name: the last value at each tap. `every` keeps all of them, for writing step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.every: dict[str, list[Tensor]] = {}

    def note(self, name: str, value: Tensor) -> None:
        self[name] = value.detach()
        self.every.setdefault(name, []).append(self[name])

    def whole(self, name: str) -> Tensor:
        """The patterns of all steps as one, (batch, heads, query, key): what a text looked at while it was written."""
        steps = self.every[name]
        keys = max(step.shape[-1] for step in steps)
        return torch.cat([F.pad(step, (0, keys - step.shape[-1])) for step in steps], -2)


def taps(model: nn.Module) -> dict[str, Tap]:
    """Every tap of a model by its path, which is the name that it is heard under."""
    return {path: module for path, module in model.named_modules() if isinstance(module, Tap)}


@contextmanager
def listen(model: nn.Module) -> Iterator[Heard]:
    """Hear every attention pattern of `model`, by name, until the block ends."""
    heard = Heard()
    listeners = []
    for name, tap in taps(model).items():

        def listener(value: Tensor, name: str = name) -> None:
            heard.note(name, value)

        tap._listeners.append(listener)
        listeners.append((tap, listener))
    try:
        yield heard
    finally:
        for tap, listener in listeners:
            tap._listeners.remove(listener)
