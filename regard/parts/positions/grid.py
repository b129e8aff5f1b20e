"""Grid positions: the waves of a patch's row beside those of its column (Dosovitskiy et al., 2021, appendix D.4)."""

from dataclasses import dataclass

import torch

from regard.core.errors import ConfigError, at_least
from regard.core.shapes import States
from regard.parts.positions.base import PositionConfig, PositionEncoding, Positions
from regard.parts.positions.sinusoid import waves


@dataclass(frozen=True)
class Grid(PositionConfig):
    columns: int = 0  # patches across an image; 0: as many as the model's images have
    before: int = 0  # tokens before the first patch, which stand nowhere in the image
    base: float = 10000.0
    relates = False

    def __post_init__(self) -> None:
        at_least(0, columns=self.columns, before=self.before)

    def build(self, width: int, heads: int, head_size: int, causal: bool) -> "GridEncoding":
        if width % 4:
            raise ConfigError(f"width {width} is not divisible by 4: grid positions have sines and cosines, both ways")
        if not self.columns:
            raise ConfigError("columns: only a model of images knows how many there are; say how many make a row")
        return GridEncoding(self)


class GridEncoding(PositionEncoding):
    def __init__(self, config: Grid):
        super().__init__()
        self.config = config

    def embed(self, x: States, positions: Positions) -> States:
        config, half = self.config, x.shape[-1] // 2
        patch = (positions.index - config.before).clamp(min=0)
        row, column = patch // config.columns, patch % config.columns
        code = torch.cat([waves(row, half, config.base), waves(column, half, config.base)], -1)
        return x + (code * (positions.index >= config.before)[..., None]).to(x.dtype)
