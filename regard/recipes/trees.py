"""Trees beside the data, where the model can read them, and none missing where it must."""

from regard.core.errors import ConfigError
from regard.models import BERT, Model, Transformer
from regard.parts import Tree


def check_trees(model: Model, given: bool) -> None:
    """Refuse a model that cannot do with the trees there are. One that may do without them is let be: to compare."""
    if given and not isinstance(model, Transformer | BERT):
        raise ConfigError(f"data.trees: a model of the kind {type(model).__name__} reads no trees; choose Transformer")
    if not given and isinstance(getattr(model, "position", None), Tree):
        raise ConfigError("model.position: Tree needs the tree of each text; give them with --trees and --valid-trees")
