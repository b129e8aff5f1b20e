"""A trained model in memory, with what its folder says beside the weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from regard.core import tensors
from regard.core.config import from_dict
from regard.core.errors import ConfigError, UserError
from regard.core.model import outline_of, unfilled
from regard.models import Model
from regard.store.folder import COLUMNS, CONFIG, TOKENIZER, WEIGHTS, read_config
from regard.text import Tokenizer


@dataclass(frozen=True)
class Loaded:
    path: Path
    config: Model
    model: nn.Module = field(repr=False)  # it would fill a page in every notebook
    tokenizer: Tokenizer | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # what another library's folder says beside the model

    def require_tokenizer(self, consequence: str) -> Tokenizer:
        """The tokenizer; without one an error says what is missing and its consequence."""
        if self.tokenizer is None:
            lacks = self.extra.get("no_tokenizer", f"has no {TOKENIZER}")
            raise UserError(f"{self.path}: {lacks}, so {consequence}")
        return self.tokenizer


def read_part(path: Path, kind: Any, name: str) -> Any:
    """One part of a run's `config.yaml`, such as its model; an error names the file and the key."""
    try:
        return from_dict(kind, read_config(path).get(name), name)
    except ConfigError as error:
        hint = "; a part of your own is known once its module is imported (REGARD_PARTS names modules to import)"
        raise ConfigError(f"{path / CONFIG}: {error}{hint if 'unknown kind' in str(error) else ''}") from None


def read_model_config(path: Path) -> Model:
    """The model of a run folder by its config alone; its weights must exist, and are not read."""
    read_config(path)
    if (path / COLUMNS).exists():
        raise UserError(f"{path}: holds a table; use `regard predict`, `explain` or `evaluate`")
    config: Model = read_part(path, Model, "model")
    if not (path / WEIGHTS).exists():
        raise UserError(f"{path}: has no {WEIGHTS} yet; wait for the first evaluation, or continue with --resume")
    return config


def load_model(path: Path) -> Loaded:
    """The model of a run folder with its best weights, in evaluation mode."""
    config = read_model_config(path)
    weights = tensors.load(path / WEIGHTS)
    # A config of absurd size is refused before it takes memory.
    tensors.check_weights(outline_of(config), weights, path / WEIGHTS)
    tensors.check_finite(weights, path / WEIGHTS)
    model = unfilled(config)
    model.load_state_dict(weights)
    tokenizer = Tokenizer.load(path / TOKENIZER) if (path / TOKENIZER).exists() else None
    vocab = getattr(config, "vocab", None)
    if tokenizer is not None and vocab is not None and tokenizer.vocab > vocab:
        raise UserError(f"{path / TOKENIZER}: has {tokenizer.vocab} tokens, the model only {vocab}")
    return Loaded(path, config, model.eval(), tokenizer)
