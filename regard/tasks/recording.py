"""A recording: all that can be drawn of one input, in words and tensors that know no picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jaxtyping import Float, UInt8
from torch import Tensor

from regard.tasks.contacts.family_input import FamilyInput
from regard.tasks.image.image_file import ImageFile

# self-attention in the source, self-attention in the target, or attention from the target to the source
Part = Literal["source", "target", "cross"]


@dataclass(frozen=True)
class ViewInput:
    """The input of a run: a text, a pair, the cells of a row, an image, or the alignment of a family."""

    text: str = ""
    target: str | None = None  # of a pair; None: the model writes it
    row: Mapping[str, str] | None = None  # cells by the names of their columns, as they are written
    image: ImageFile | None = None
    without: int | None = None  # number of a training row that the prediction of the row shall not attend to
    family: FamilyInput | None = None

    def fits(self, kind: str | None) -> bool:
        """Whether a run that takes this kind of input accepts it."""
        values = {"row": self.row, "image": self.image, "family": self.family}
        return all((kind == name) == (value is not None) for name, value in values.items())

    @property
    def file_name(self) -> str:
        """Of the file that the input is, if it is one, without its folder: an exported page may be passed on."""
        file = self.family.alignment if self.family is not None else self.image
        return "" if file is None else Path(file.name).name

    def as_json(self) -> dict[str, Any]:
        """As the page sends it: files by their digest."""
        fields: dict[str, Any] = {"text": self.text, "target": self.target, "row": self.row}
        fields |= {} if self.image is None else {"image": self.image.digest}
        fields |= {} if self.family is None else self.family.as_json()
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


PairScores = Float[Tensor, "residue residue"]


@dataclass(frozen=True)
class ViewedFamily:
    """An alignment as the Evoformer reads it, and what is predicted and known of each pair of its residues."""

    residues: tuple[str, ...]  # of the first sequence: letter and number
    first: int  # number of the first of these residues
    length: int  # of the whole chain
    sequences: tuple[str, ...]  # that are read letter by letter
    letters: tuple[str, ...]  # of these sequences, a dash for a gap
    identity: Float[Tensor, "sequence sequence"]  # fraction of equal letters
    contact: PairScores  # probability
    mean_field: PairScores
    mutual_information: PairScores
    distance: PairScores | None  # in ångström, NaN where the structure lacks a residue; None: no structure is known
    touching: float  # ångström: residues nearer than this touch
    separation: int  # the least distance in the chain of pairs that are predicted
    rows: Mapping[str, Float[Tensor, "heads sequence residue residue"]]  # patterns of attention by its name
    columns: Mapping[str, Float[Tensor, "heads residue sequence sequence"]]
    reading: str  # how many sequences were read letter by letter, and how often

    @property
    def bytes(self) -> int:
        return sum(one.numel() * one.element_size() for one in (*self.rows.values(), *self.columns.values()))


@dataclass(frozen=True)
class Recording:
    input: ViewInput
    answer: str
    probabilities: tuple[tuple[str, float], ...]  # of labels, or of the next word, the likeliest first
    maps: tuple[AttentionMap, ...]
    notes: tuple[str, ...] = ()  # what a person should know, such as that a text was cut
    image: ViewedImage | None = None
    family: ViewedFamily | None = None

    @property
    def bytes(self) -> int:
        own = sum(one.pattern.numel() * one.pattern.element_size() for one in self.maps)
        return own + (0 if self.family is None else self.family.bytes)

    def map(self, name: str) -> AttentionMap | None:
        return next((one for one in self.maps if one.name == name), None)
