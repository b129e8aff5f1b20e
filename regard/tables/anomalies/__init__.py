"""Anomalies: how surprising each cell of a table is, given the other cells of its row and the other rows."""
