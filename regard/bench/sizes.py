"""How much is computed. The default sizes take about two minutes in all on two cores."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    stream_bytes: int = 2**28  # read from memory at once; far more than a cache holds
    side: int = 2048  # of the matrices that are multiplied
    train_minutes: float = 10.0  # budget that the recipe is asked for, which decides what is compiled
    train_steps: int = 4  # measured in each round
    batch_size: int | None = None  # rows of a training step; None: the recipe's
    width: int = 768  # of the Llama-shaped model, in heads of 64
    hidden: int = 2048
    layers: int = 8
    served_layers: int = 2
    vocab: int = 8192
    new_tokens: int = 48  # written after each text
    texts: int = 8  # at once, and clients at once
    rows: int = 500  # of the table that is fitted
    columns: int = 20
    query_rows: int = 2000


FULL = Sizes()
