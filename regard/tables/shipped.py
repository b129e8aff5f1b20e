"""The weights that come with the package: a network that has read many invented tables."""

from functools import cache
from pathlib import Path

from regard.core import tensors
from regard.core.config import from_yaml
from regard.core.errors import UserError
from regard.models import InContext
from regard.models.in_context import InContextModel

FOLDER = Path(__file__).parent / "weights"


def shipped_reader() -> InContextModel:
    """A copy of the network, for the caller to keep or to train on."""
    config, weights = _files(FOLDER)
    model = config.build()
    model.load_state_dict({name: value.float() for name, value in weights.items()})
    return model.eval()


@cache
def _files(folder: Path) -> tuple[InContext, dict[str, tensors.Tensor]]:
    if not (folder / "reader.safetensors").exists():
        raise UserError(f"{folder}: holds no weights yet: choose mode trained")
    return from_yaml(InContext, folder / "reader.yaml"), dict(tensors.load(folder / "reader.safetensors"))
