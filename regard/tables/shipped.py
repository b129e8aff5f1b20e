"""Networks that read tables: the one that comes with the package, or one that somebody has pre-trained himself."""

from pathlib import Path

from regard.core import tensors
from regard.core.config import from_dict
from regard.core.errors import ConfigError, UserError
from regard.models import InContext
from regard.models.in_context import InContextModel
from regard.store import CONFIG, WEIGHTS, read_config

FOLDER = Path(__file__).parent / "weights"  # what is needed of the run folder of `regard pretrain tables`


def table_reader(run: str | Path | None = None) -> InContextModel:
    """The network of a pre-training's run folder, by default the shipped one; a copy, to keep or to train on."""
    folder = FOLDER if run is None else Path(run)
    if run is None and not (folder / WEIGHTS).exists():
        raise UserError(f"{folder}: holds no weights: choose mode trained, or weights of your own")
    try:
        config = from_dict(InContext, read_config(folder).get("model"), "model")
    except ConfigError as error:
        raise ConfigError(f"{folder / CONFIG}: is not of `regard pretrain tables` ({str(error)[:80]})") from None
    model = config.build()
    halves = tensors.load(folder / WEIGHTS)
    tensors.load_weights(model, {name: value.float() for name, value in halves.items()}, folder / WEIGHTS)
    return model.eval()
