"""A recording: all that can be drawn of one input, in words and tensors that know no picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Float, UInt8
from torch import Tensor

from regard.tasks.image.image_file import ImageFile

# self-attention in the source, self-attention in the target, or attention from the target to the source
Part = Literal["source", "target", "cross"]


@dataclass(frozen=True)
class ViewInput:
    """The input of a run: a text, a pair, the cells of a row, or an image."""

    text: str = ""
    target: str | None = None  # of a pair; None: the model writes it
    row: Mapping[str, str] | None = None  # cells by the names of their columns, as they are written
    image: ImageFile | None = None
    without: int | None = None  # number of a training row that the prediction of the row shall not attend to

    def fits(self, kind: str | None) -> bool:
        """Whether a run that takes this kind of input accepts it."""
        return (kind == "row") == (self.row is not None) and (kind == "image") == (self.image is not None)

    def as_json(self) -> dict[str, Any]:
        """As the page sends it: an image by its digest."""
        fields: dict[str, Any] = {"text": self.text, "target": self.target, "row": self.row}
        fields |= {} if self.image is None else {"image": self.image.digest}
        return fields | ({} if self.without is None else {"without": self.without})


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one module, for each of its heads."""

    name: str  # the path of the module, as in `listen`
    pattern: Float[Tensor, "heads query key"]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    part: Part = "source"
    source: int = 0  # where source and target are one text: how many of the first keys are the source


@dataclass(frozen=True)
class ViewedImage:
    """An image after preprocessing, and how its patches map to tokens."""

    pixels: UInt8[Tensor, "channel side side"]
    patches: int  # along a side
    prefix_tokens: int  # tokens before the first patch
    pool: Literal["class token", "learned query", "mean"]  # what the label is read from


@dataclass(frozen=True)
class Recording:
    input: ViewInput
    answer: str
    probabilities: tuple[tuple[str, float], ...]  # of labels, or of the next word, the likeliest first
    maps: tuple[AttentionMap, ...]
    notes: tuple[str, ...] = ()  # what a person should know, such as that a text was cut
    image: ViewedImage | None = None

    @property
    def bytes(self) -> int:
        return sum(one.pattern.numel() * one.pattern.element_size() for one in self.maps)

    def map(self, name: str) -> AttentionMap | None:
        return next((one for one in self.maps if one.name == name), None)
