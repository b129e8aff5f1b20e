"""What every model's config says of itself, so that nobody has to know the models by name."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.core.config import Config
from regard.core.errors import ConfigError
from regard.core.machine import available_memory


class ModelConfig(Config):
    """The settings of a model, which `build` makes. The flags say what the model is for."""

    reads_source: ClassVar[bool] = False  # a source text is read, and a target written
    continues_text: ClassVar[bool] = False  # a text is written on from a prompt
    reads_trees: ClassVar[bool] = False  # dependency trees of its sentences may be its positions
    embeds_text: ClassVar[bool] = False  # its states are vectors of a text that is read both ways
    reads_images: ClassVar[bool] = False
    reads_tables: ClassVar[bool] = False
    reads_alignments: ClassVar[bool] = False

    @property
    def fills_masks(self) -> bool:
        """Whether it predicts the words of masked tokens."""
        return False

    @property
    def classifies_text(self) -> bool:
        """Whether it scores the labels of a text."""
        return False

    @property
    def head_weights(self) -> tuple[str, ...]:
        """How the names of weights begin that are of no use for other labels: fine-tuning initialises them anew."""
        return ()

    def build(self) -> nn.Module:
        raise NotImplementedError("abstract: a config builds its model")


RANDOM = frozenset(
    {
        nn.init.normal_,
        nn.init.uniform_,
        nn.init.trunc_normal_,
        nn.init.kaiming_uniform_,
        nn.init.kaiming_normal_,
        Tensor.normal_,
        Tensor.uniform_,
    }
)


class _Undrawn(TorchFunctionMode):
    """Weights that would be drawn at random stay as they are in memory."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def outline_of(config: ModelConfig) -> nn.Module:
    """The model without memory: its shapes alone."""
    with torch.device("meta"), _Undrawn():
        return config.build()


def unfilled(config: ModelConfig) -> nn.Module:
    """The model for weights that are loaded next: drawing those that are replaced would take longer than reading."""
    with _Undrawn():
        return config.build()


def build_model(config: ModelConfig) -> nn.Module:
    """The model of a config, refused in one line where its parameters alone would not fit into memory."""
    outline = outline_of(config)
    needed = sum(p.numel() * p.element_size() for p in outline.parameters())
    available = available_memory()
    if available is not None and needed > available:
        raise ConfigError(
            f"model: its parameters need {needed / 2**30:,.1f} GiB, and {available / 2**30:,.1f} GiB of memory are "
            "free; choose a smaller width, fewer layers or a smaller vocabulary"
        )
    return config.build()
