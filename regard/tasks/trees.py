"""Dependency trees beside texts: read where the model uses them, required where its positions need them."""

import logging
from collections.abc import Sequence
from pathlib import Path

from regard.core.errors import ConfigError, UserError
from regard.data.trees.conllu import Parse, match_trees, read_trees
from regard.models import BERT, Model, Transformer
from regard.parts import Tree
from regard.tasks.base import Run

Trees = Sequence[Parse] | str | Path  # parsed sentences, or the CoNLL-U file that holds them

READS_TREES = (Transformer, BERT)

log = logging.getLogger(__name__)


def needs_trees(model: Model) -> bool:
    """Whether the positions of a model come from the tree of each text."""
    return isinstance(getattr(model, "position", None), Tree)


def check_trees(model: Model, has_trees: bool) -> None:
    """Refuse a model that cannot use the trees, or lacks them. One that ignores them is allowed, for comparison."""
    if has_trees and not isinstance(model, READS_TREES):
        raise ConfigError(f"data.trees: {type(model).__name__} reads no trees; choose Transformer or BERT")
    if not has_trees and needs_trees(model):
        raise ConfigError("model.position: Tree needs the tree of each text; give --trees and --valid-trees")


def note_unused_trees(model: Model, has_trees: bool) -> None:
    if has_trees and not needs_trees(model):
        log.info("note: the trees are not used; --model.position Tree makes the model use them")


def trees_of(run: Run, texts: Sequence[str], trees: Trees | None) -> Sequence[Parse] | None:
    """The tree of each text, checked to belong to it."""
    if trees is None:
        if needs_trees(run.config):
            raise UserError(f"{run.path}: its Tree positions need the tree of each text; give them with --trees")
        return None
    if not isinstance(run.config, READS_TREES):
        raise ConfigError(f"{run.path}: holds a {type(run.config).__name__}, which reads no trees")
    parses = read_trees([trees]) if isinstance(trees, str | Path) else trees
    match_trees(parses, texts, lambda number: f"text {number + 1}")
    return parses
