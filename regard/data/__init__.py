"""Files to rows to batches."""

from regard.data.order import Order
from regard.data.pairs import PairBatch, Pairs, pad

__all__ = ["Order", "PairBatch", "Pairs", "pad"]
