"""Fine-tuning: a run that begins from the trunk of another, whose head alone is new (Devlin et al., 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from torch import Tensor

from regard.core.errors import ConfigError
from regard.interop import load
from regard.models import BERT, Model
from regard.text import Tokenizer

FREE = ("head", "dropout")  # what may differ from the run that was begun from


@dataclass(frozen=True)
class Begun:
    """What an earlier run hands on: its shape, its words, and all that it has learned but for the head."""

    path: Path
    model: BERT
    tokenizer: Tokenizer
    weights: Mapping[str, Tensor]

    def check(self, model: Model) -> None:
        """The shape is the earlier run's; a setting that says otherwise cannot be meant."""
        if not isinstance(model, BERT):
            raise ConfigError(
                f"model: {self.path} holds a BERT, and no {type(model).__name__} begins from it; leave it out"
            )
        for name in (field.name for field in fields(BERT) if field.name not in FREE):
            was, wanted = getattr(self.model, name), getattr(model, name)
            if was != wanted:
                raise ConfigError(f"model.{name}: {self.path} was trained with {was}, not {wanted}; leave it out")


def read_begun(path: Path) -> Begun:
    run = load(path)
    if not isinstance(run.config, BERT):
        kind = type(run.config).__name__
        raise ConfigError(f"init: {path} holds a {kind}; begin from an encoder (BERT), such as `train fill` makes")
    if run.tokenizer is None:
        raise ConfigError(f"init: {path} has no tokenizer that regard can use, so it reads no texts")
    of_head = ("head.", "embedding.head")
    trunk = {name: tensor for name, tensor in run.model.state_dict().items() if not name.startswith(of_head)}
    return Begun(path, run.config, run.tokenizer, trunk)
