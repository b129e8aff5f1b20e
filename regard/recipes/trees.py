"""Trees beside the data, where the model can read them, and none missing where it must."""

import sys

from regard.core.errors import ConfigError
from regard.models import BERT, Model, Transformer
from regard.parts import Tree


def check_trees(model: Model, given: bool) -> None:
    """Refuse a model that cannot do with the trees there are. One that may do without them is let be: to compare."""
    if given and not isinstance(model, Transformer | BERT):
        raise ConfigError(
            f"data.trees: a model of the kind {type(model).__name__} reads no trees; choose Transformer or BERT"
        )
    if not given and _by_tree(model):
        raise ConfigError("model.position: Tree needs the tree of each text; give them with --trees and --valid-trees")


def tell_unread_trees(model: Model, given: bool) -> None:
    """Once the trees were found to be right."""
    if given and not _by_tree(model):
        print("note: the trees are not read; --model.position Tree makes the model read by them", file=sys.stderr)


def _by_tree(model: Model) -> bool:
    return isinstance(getattr(model, "position", None), Tree)
