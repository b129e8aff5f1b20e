"""Scripts that are copied beside an exported model as predict.py: they need no regard, which imports none."""
