"""A recording: all that can be drawn of one input, in words and tensors that know no picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Float, UInt8
from torch import Tensor

from regard.view.image_file import ImageFile

# It reads a source, goes on with what was written, or looks back from the one to the other.
Part = Literal["source", "target", "across"]


@dataclass(frozen=True)
class Given:
    """What a person gives to a run: a text, a pair, the cells of a row, or a picture."""

    text: str = ""
    target: str | None = None  # of a pair; None: the model writes it
    row: Mapping[str, str] | None = None  # cells by the names of their columns, as they are written
    image: ImageFile | None = None

    def suits(self, kind: str | None) -> bool:
        """Whether a run of this kind takes it."""
        return (kind == "row") == (self.row is not None) and (kind == "image") == (self.image is not None)

    def told(self) -> dict[str, Any]:
        """As a page knows it: a picture by its digest."""
        told = {"text": self.text, "target": self.target, "row": self.row}
        return told if self.image is None else {**told, "picture": self.image.digest}


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
class Seen:
    """An image as a model reads it, and how its tokens lie on it."""

    pixels: UInt8[Tensor, "channel side side"]
    patches: int  # along a side
    before: int  # tokens before the first patch
    pool: Literal["class token", "learned query", "mean"]  # what the label is read from


@dataclass(frozen=True)
class Recording:
    given: Given
    answer: str
    chances: tuple[tuple[str, float], ...]  # of labels, or of the next word, the likeliest first
    looks: tuple[Look, ...]
    notes: tuple[str, ...] = ()  # what a person should know, such as that a text was cut
    seen: Seen | None = None  # of an image

    @property
    def bytes(self) -> int:
        return sum(look.pattern.numel() * look.pattern.element_size() for look in self.looks)

    def look(self, name: str) -> Look | None:
        return next((look for look in self.looks if look.name == name), None)
