"""Files to rows to batches."""

from regard.data.order import Order
from regard.data.pairs import PairBatch, Pairs, pad, source_trees

__all__ = ["Order", "PairBatch", "Pairs", "pad", "source_trees"]
