"""The prior over synthetic tables on which the in-context model is pre-trained."""

from regard.tables.prior.draw import Prior, SyntheticTables, draw_group

__all__ = ["Prior", "SyntheticTables", "draw_group"]
