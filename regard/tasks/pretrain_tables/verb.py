"""`regard pretrain tables`."""

from regard.tasks.options import Changes, TrainOptions


def pretrain_tables(options: TrainOptions, *, changes: Changes = None) -> int:
    """Pre-train the in-context table model on synthetic tables, as the shipped weights were.

    Any setting can be changed with a dotted option, such as --model.layers 8 or --data.max-rows 2048;
    --show-settings prints them all.
    --init takes another run of this command: its weights are used as far as the two networks are alike.
    """
    from regard.tasks.pretrain_tables.recipe import in_context_tables

    return options.train(in_context_tables(), changes)


PRETRAIN = {"tables": pretrain_tables}
