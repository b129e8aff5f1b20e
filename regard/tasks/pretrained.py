"""Fine-tuning: a run that starts from the weights of another, with a new head (Devlin et al., 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.core.errors import ConfigError
from regard.interop import load
from regard.models import BERT
from regard.store import RunFolder
from regard.tasks.base import Settings, Workspace
from regard.text import Tokenizer

FREE = ("head", "dropout")  # settings that may differ from the pre-trained model's


@dataclass(frozen=True)
class Pretrained:
    """What a pre-trained encoder contributes: its config, its tokenizer, and its weights without the head."""

    path: Path
    model: BERT
    tokenizer: Tokenizer
    weights: Mapping[str, Tensor]

    def check(self, model: Any) -> None:
        """The new model must have the shape of the pre-trained one."""
        if not isinstance(model, BERT):
            raise ConfigError(f"model: {self.path} holds a BERT, not a {type(model).__name__}; leave it out")
        for name in (field.name for field in fields(BERT) if field.name not in FREE):
            was, wanted = getattr(self.model, name), getattr(model, name)
            if was != wanted:
                raise ConfigError(f"model.{name}: {self.path} was trained with {was}, not {wanted}; leave it out")


def load_encoder(path: Path) -> Pretrained:
    """A run of `regard train fill` or `classify`, or a Hugging Face folder of a BERT."""
    loaded = load(path)
    if not isinstance(loaded.config, BERT):
        kind = type(loaded.config).__name__
        raise ConfigError(f"init: {path} holds a {kind}; start from an encoder (BERT), such as `train fill` makes")
    if loaded.tokenizer is None:
        raise ConfigError(f"init: {path} has no tokenizer that regard can use, so it reads no texts")
    of_head = ("head.", "embedding.head")
    weights = {name: tensor for name, tensor in loaded.model.state_dict().items() if not name.startswith(of_head)}
    return Pretrained(path, loaded.config, loaded.tokenizer, weights)


def read_pretrained(plan: Settings, workspace: Workspace) -> Pretrained | None:
    """What a plan's `init` names; a run that continues from its own checkpoint no longer needs it."""
    if plan.init is None or (workspace.resume and RunFolder(workspace.out).checkpoints()):
        return None
    pretrained = load_encoder(Path(plan.init))
    pretrained.check(plan.model)
    return pretrained
