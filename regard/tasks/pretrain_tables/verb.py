"""`regard pretrain tables`."""

from pathlib import Path

from regard.tasks.options import Changes, TrainOptions


def pretrain_tables(options: TrainOptions, *, init: Path | None = None, changes: Changes = None) -> int:
    """Pre-train the in-context table model on synthetic tables, as the shipped weights were.

    Any setting can be changed with a dotted option, such as --model.layers 8 or --data.max-rows 2048;
    --show-settings prints them all.

    Parameters
    ----------
    init
        Start from the weights of another run of this command, as far as the two networks are alike.
    """
    from regard.tasks.pretrain_tables.recipe import in_context_tables

    settings = {} if init is None else {"init": str(init)}
    return options.train(in_context_tables(), {**settings, **(changes or {})})


PRETRAIN = {"tables": pretrain_tables}
