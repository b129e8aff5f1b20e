"""What every model's config says of itself, so that nobody has to know the models by name."""

from typing import ClassVar

from torch import nn

from regard.core.config import Config


class ModelConfig(Config):
    """The settings of a model, which `build` makes. The flags say what the model is for."""

    reads_source: ClassVar[bool] = False  # a source text is read, and a target written
    continues_text: ClassVar[bool] = False  # a text is written on from a prompt
    reads_trees: ClassVar[bool] = False  # dependency trees of its sentences may be its positions
    reads_images: ClassVar[bool] = False
    reads_tables: ClassVar[bool] = False

    @property
    def fills_masks(self) -> bool:
        """Whether it predicts the words of masked tokens."""
        return False

    @property
    def classifies_text(self) -> bool:
        """Whether it scores the labels of a text."""
        return False

    def build(self) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its model")
