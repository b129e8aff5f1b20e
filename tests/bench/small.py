"""Sizes of a benchmark that takes a moment."""

from regard.bench import Sizes

SMALL = Sizes(
    stream_bytes=2**16, side=16, train_minutes=0.1, train_steps=1, batch_size=1, width=64, hidden=64, layers=1,
    served_layers=1, vocab=320, new_tokens=4, texts=2, rows=20, columns=3, query_rows=5,
)  # fmt: skip
