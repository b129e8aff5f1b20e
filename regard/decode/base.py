"""What decoding needs of a model: one `step`, and a state whose rows can be chosen."""

from typing import Protocol, runtime_checkable

from torch import Tensor

from regard.core.shapes import Logits, Tokens


@runtime_checkable
class State(Protocol):
    """What a model holds while it writes."""

    def select(self, rows: Tensor, beams: int = 1) -> "State":
        """These rows, in this order: finished texts leave, beams fork. Each text has `beams` rows, side by side."""


@runtime_checkable
class Writer(Protocol):
    """Any model that writes: the scores after the given tokens, and the state that has read them."""

    def step(self, tokens: Tokens, state: State) -> tuple[Logits, State]: ...
