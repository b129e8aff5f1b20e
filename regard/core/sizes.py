"""Bounds on sizes: beyond every known model, and far below what would exhaust a machine before it is refused."""

MAX_WIDTH, MAX_HIDDEN = 2**17, 2**20
MAX_HEADS = 2**12
MAX_VOCAB = MAX_LENGTH = 2**25
MAX_LABELS = 2**20
