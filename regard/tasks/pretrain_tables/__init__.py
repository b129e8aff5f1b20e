"""Pre-training of the in-context table model on synthetic tables."""
