"""Writing with a model: one search for every model, through its one `step`."""

from regard.decode.base import State, Writer
from regard.decode.beam import Beam, Hypothesis
from regard.decode.choose import Sampling, likeliest
from regard.decode.write import greedy, stream, write

__all__ = ["Beam", "Hypothesis", "Sampling", "State", "Writer", "greedy", "likeliest", "stream", "write"]
