"""Writing with a model: one search for every model, through its one `step`."""

from regard.decode.greedy import greedy

__all__ = ["greedy"]
