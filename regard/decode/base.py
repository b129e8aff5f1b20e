"""What decoding needs of a model: a state, and one `step` that scores the next token."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from regard.core.errors import UserError
from regard.core.shapes import Logits, Source, SourceValid, Tokens
from regard.parts.positions import Positions


@runtime_checkable
class State(Protocol):
    """What a model holds while it writes."""

    def select(self, rows: Tensor, beams: int = 1) -> "State":
        """These rows, in this order: finished texts leave, beams fork. Each text has `beams` rows, side by side."""


@runtime_checkable
class Writer(Protocol):
    """Any model that writes token by token."""

    @property
    def device(self) -> torch.device: ...

    @property
    def max_positions(self) -> int | None:
        """How many tokens it can read and write in all; None: any number."""

    def step(self, tokens: Tokens, state: Any) -> tuple[Logits, Any]:
        """The scores after each of these tokens, and the state that has read them."""

    def modules(self) -> Iterator[nn.Module]: ...


@runtime_checkable
class TextWriter(Writer, Protocol):
    """A language model: it continues a text."""

    def init_state(self, capacity: int = 64) -> State:
        """The state before the first token, with memory for `capacity` of them; it grows where more come."""


@runtime_checkable
class JoinedState(State, Protocol):
    """The state of texts that need not be equally long."""

    def join(self, other: Any) -> "JoinedState":
        """The texts of both, those of the other last; both states are used up."""


@runtime_checkable
class SourceWriter(Writer, Protocol):
    """A model that reads a source and writes a target."""

    def init_state(self, source: Source, valid: SourceValid | None = None, positions: Positions | None = None) -> State:
        """The state that has read the source."""


def text_writer(model: nn.Module) -> TextWriter:
    if not isinstance(model, TextWriter):
        raise UserError(f"{type(model).__name__} does not write")
    return model


def source_writer(model: nn.Module) -> SourceWriter:
    if not isinstance(model, SourceWriter):
        raise UserError(f"{type(model).__name__} does not write")
    return model
