"""Writing with a model: one search for every model, through its one `step`."""

from regard.decode.accelerate import accelerate
from regard.decode.base import SourceWriter, State, TextWriter, Writer, source_writer, text_writer
from regard.decode.beam import Beam, Hypothesis
from regard.decode.choose import Sampling, likeliest
from regard.decode.text_stream import TextStream, continuation
from regard.decode.write import greedy, stream, write

__all__ = [
    "Beam", "Hypothesis", "Sampling", "SourceWriter", "State", "TextStream", "TextWriter", "Writer", "accelerate",
    "continuation", "greedy", "likeliest", "source_writer", "stream", "text_writer", "write",
]  # fmt: skip
