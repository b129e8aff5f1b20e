"""A recording: all that can be drawn of one input, in words and tensors that know no picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

# It reads a source, goes on with what was written, or looks back from the one to the other.
Part = Literal["source", "target", "across"]


@dataclass(frozen=True)
class Given:
    """What a person gives to a run: a text, a pair, or the cells of a row."""

    text: str = ""
    target: str | None = None  # of a pair; None: the model writes it
    row: Mapping[str, str] | None = None  # cells by the names of their columns, as they are written


@dataclass(frozen=True)
class Look:
    """One attention: what each of its heads looked at."""

    name: str  # as `listen` hears it, less the word `pattern`
    pattern: Float[Tensor, "heads query key"]
    queries: tuple[str, ...]  # who looks
    keys: tuple[str, ...]  # at what
    part: Part = "source"
    source: int = 0  # where source and target are one text: how many of the first keys are the source


@dataclass(frozen=True)
class Recording:
    given: Given
    answer: str
    chances: tuple[tuple[str, float], ...]  # of labels, or of the next word, the likeliest first
    looks: tuple[Look, ...]
    notes: tuple[str, ...] = ()  # what a person should know, such as that a text was cut

    @property
    def bytes(self) -> int:
        return sum(look.pattern.numel() * look.pattern.element_size() for look in self.looks)

    def look(self, name: str) -> Look | None:
        return next((look for look in self.looks if look.name == name), None)
