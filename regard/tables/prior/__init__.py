"""Invented tables, from which a network learns to read tables in general."""

from regard.tables.prior.draw import InventedTables, Prior, draw_group

__all__ = ["InventedTables", "Prior", "draw_group"]
