"""A recording: what a run answered to one input, and every attention map behind it. It knows nothing of pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Float, UInt8
from torch import Tensor

from regard.tasks.image.image_file import ImageFile

# Self-attention over the source, self-attention over the target, or attention from the target to the source.
Part = Literal["source", "target", "across"]


@dataclass(frozen=True)
class ViewInput:
    """What a person gives to a run: a text, a pair, the cells of a row, or an image."""

    text: str = ""
    target: str | None = None  # of a pair; None: the model writes it
    row: Mapping[str, str] | None = None  # cells by column name, as text
    image: ImageFile | None = None

    def suits(self, kind: str | None) -> bool:
        """Whether a run whose form is of this kind takes it."""
        return (kind == "row") == (self.row is not None) and (kind == "image") == (self.image is not None)

    def as_json(self) -> dict[str, Any]:
        """As the page knows it: an image by its digest."""
        fields = {"text": self.text, "target": self.target, "row": self.row}
        return fields if self.image is None else {**fields, "picture": self.image.digest}


@dataclass(frozen=True)
class AttentionMap:
    """The weights of every head of one attention."""

    name: str  # the path of its module
    pattern: Float[Tensor, "heads query key"]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    part: Part = "source"
    source: int = 0  # where source and target are one text: how many of the first keys are the source


@dataclass(frozen=True)
class ViewedImage:
    """An image as a model reads it, and how its tokens lie on it."""

    pixels: UInt8[Tensor, "channel side side"]
    patches: int  # along a side
    before: int  # tokens before the first patch
    pool: Literal["class token", "learned query", "mean"]  # what the label is read from


@dataclass(frozen=True)
class Recording:
    given: ViewInput
    answer: str
    probabilities: tuple[tuple[str, float], ...]  # of labels, or of the next token, the most probable first
    maps: tuple[AttentionMap, ...]
    notes: tuple[str, ...] = ()  # what a person should know, such as that a text was truncated
    image: ViewedImage | None = None

    @property
    def bytes(self) -> int:
        return sum(one.pattern.numel() * one.pattern.element_size() for one in self.maps)

    def map(self, name: str) -> AttentionMap | None:
        return next((one for one in self.maps if one.name == name), None)
