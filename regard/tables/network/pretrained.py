"""The pre-trained in-context model: the one shipped with the package, or one of your own pre-training."""

from copy import deepcopy
from functools import lru_cache
from pathlib import Path

from regard.core import tensors
from regard.core.config import from_dict
from regard.core.errors import ConfigError, UserError
from regard.models import InContext
from regard.models.in_context import InContextModel
from regard.store import CONFIG, WEIGHTS, read_config

FOLDER = Path(__file__).parent.parent / "weights"  # weights and settings of a run of `regard pretrain tables`


def pretrained_model(run: str | Path | None = None) -> InContextModel:
    """The model of a pre-training's run folder, by default the shipped one; a new copy each time."""
    folder = FOLDER if run is None else Path(run)
    if run is None and not (folder / WEIGHTS).exists():
        raise UserError(f"{folder}: has no weights; use mode scratch, or weights of your own")
    changed = tuple(path.stat().st_mtime_ns for path in (folder / CONFIG, folder / WEIGHTS) if path.exists())
    return deepcopy(_read(folder, changed))


@lru_cache(maxsize=2)
def _read(folder: Path, changed: tuple[int, ...]) -> InContextModel:
    """Files that have not changed are read once: building a model takes longer than a small table."""
    try:
        config = from_dict(InContext, read_config(folder).get("model"), "model")
    except ConfigError as error:
        raise ConfigError(f"{folder / CONFIG}: is not a run of `regard pretrain tables` ({str(error)[:80]})") from None
    model = config.build()
    weights = tensors.load(folder / WEIGHTS)
    tensors.load_weights(model, {name: value.float() for name, value in weights.items()}, folder / WEIGHTS)
    return model.eval()
