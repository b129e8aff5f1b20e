"""Scripts that are copied beside an exported model as predict.py: they need no regard, and nothing here imports them."""
