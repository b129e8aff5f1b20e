"""Vision Transformer: an image is a text of patches, read without a mask (Dosovitskiy et al., 2021)."""

from dataclasses import dataclass, replace

from torch import nn

from regard.core.errors import ConfigError, at_least, at_most
from regard.core.shapes import Images, Labels
from regard.core.sizes import MAX_LABELS
from regard.parts.dropout import Dropout
from regard.parts.embed import Patches
from regard.parts.init import init_weights
from regard.parts.linear import Linear
from regard.parts.pool import ClassToken, Pool
from regard.parts.positions import Grid, Learned, Position, Positions
from regard.parts.stem import NoStem, Stem
from regard.parts.trunk import SequenceTrunk


@dataclass(frozen=True, kw_only=True)
class ViT(SequenceTrunk):
    """A size of 0 is taken from the data when a run is made."""

    reads_images = True

    labels: int = 0
    image: int = 28  # pixels along a side
    patch: int = 4
    channels: int = 1
    stem: Stem = NoStem()
    pool: Pool = ClassToken()  # what the label is read from
    position: Position | None = None  # type: ignore[assignment]  # None: learned, one for each patch and the token

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, labels=self.labels, image=self.image, patch=self.patch, channels=self.channels)
        at_most(MAX_LABELS, labels=self.labels, image=self.image, patch=self.patch, channels=self.channels)
        if self.patch and self.image % self.patch:
            raise ConfigError(f"image {self.image} is not divisible by patch {self.patch}")
        if self.patch % self.stem.shrink:
            raise ConfigError(f"patch {self.patch} is not divisible by {self.stem.shrink}, by which the stem shrinks")

    @property
    def head_weights(self) -> tuple[str, ...]:
        return ("label.",)

    def build(self) -> "ViTModel":
        at_least(1, labels=self.labels, image=self.image, patch=self.patch, channels=self.channels)
        return ViTModel(self)

    def position_encoding(self) -> Position:
        """The position encoding for as many patches as there are."""
        across = self.image // self.patch
        if isinstance(self.position, Grid) and not self.position.columns:
            return replace(self.position, columns=across, before=self.pool.tokens)
        return self.position or Learned(across**2 + self.pool.tokens)


class ViTModel(nn.Module):
    def __init__(self, config: ViT):
        super().__init__()
        self.config = config
        shrink, channels = config.stem.shrink, config.stem.channels_of(config.channels)
        self.stem = config.stem.build(config.channels)
        self.patches = Patches(config.image // shrink, config.patch // shrink, channels, config.width)
        self.tokens_each = self.patches.count + config.pool.tokens
        self.pool = config.pool.build(config.width, config.heads)
        self.drop = Dropout(config.dropout)
        self.encoder = config.stack(causal=False, position=config.position_encoding())
        self.label = Linear(config.width * config.pool.states, config.labels)
        init_weights(self, self.encoder.blocks, init=config.init)

    def forward(self, images: Images) -> Labels:
        self._check(images)
        x = self.pool.enter(self.patches(self.stem(images)))
        positions = Positions.counting(x.shape[1], device=x.device)
        x = self.encoder(self.drop(self.encoder.position.embed(x, positions)), None, positions)
        return self.label(self.pool(x))

    def _check(self, images: Images) -> None:
        """In the words of the config: what comes out of a stem has a size and channels that nobody has chosen."""
        config, (channels, height, breadth) = self.config, images.shape[1:]
        if height != config.image or breadth != config.image:
            side = config.image
            raise ConfigError(f"the model reads images of {side}×{side} and was given {height}×{breadth}")
        if channels != config.channels:
            raise ConfigError(f"the model reads images of {config.channels} channels and was given {channels}")
