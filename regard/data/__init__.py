"""Files to rows to batches: text, images, tables and dependency trees, each in a folder of its own."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.data.images.images import ImageFiles
    from regard.data.tables.files import read_table, write_table
    from regard.data.text.corpus import Corpus
    from regard.data.text.dates import Dates
    from regard.data.text.labelled import LabelFiles
    from regard.data.text.pair_files import PairFiles
    from regard.data.text.tagged import TaggedFiles
    from regard.data.trees.conllu import Parse, read_trees

__all__ = [
    "Corpus", "Dates", "ImageFiles", "LabelFiles", "PairFiles", "Parse", "TaggedFiles", "read_table", "read_trees",
    "write_table",
]  # fmt: skip

_HOME = {
    "Corpus": "text.corpus",
    "Dates": "text.dates",
    "ImageFiles": "images.images",
    "LabelFiles": "text.labelled",
    "PairFiles": "text.pair_files",
    "Parse": "trees.conllu",
    "TaggedFiles": "text.tagged",
    "read_table": "tables.files",
    "read_trees": "trees.conllu",
    "write_table": "tables.files",
}


def __getattr__(name: str) -> Any:
    """Imported on first use: a text needs no pandas."""
    if name not in _HOME:
        raise AttributeError(f"module 'regard.data' has no attribute {name!r}")
    return getattr(import_module(f"regard.data.{_HOME[name]}"), name)
