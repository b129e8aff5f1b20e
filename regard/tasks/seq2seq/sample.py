"""A sample of a translator or summariser: one source and what is written for it, always the same source."""

from textwrap import shorten

from torch import nn

from regard.core.machine import device_of
from regard.data.text.pairs import Pairs
from regard.decode import greedy, source_writer
from regard.tasks.lm.generate import room_after
from regard.text import Tokenizer
from regard.train import Sample

TOKENS = 40  # at most of what is written
SHOWN = 200  # characters of a source


def translation_sample(tokenizer: Tokenizer, source: str, pairs: Pairs) -> Sample:
    """The first source of these pairs, and what the model writes for it."""
    first = next(iter(pairs.once()))
    batch = first.shard(0, first.rows)

    def sample(model: nn.Module) -> str:
        row = batch.to(device_of(model))
        writer = source_writer(model)
        state = writer.init_state(row.source, row.source_valid, row.positions)
        room = room_after(model, row.source.shape[1])
        max_tokens = TOKENS if room is None else min(TOKENS, room)
        written = greedy(writer, state, 1, tokenizer.start, tokenizer.end, max_tokens)
        return f"{shorten(source, SHOWN, placeholder=' …')}\n→ {tokenizer.targets.decode(written)[0]}"

    return sample
