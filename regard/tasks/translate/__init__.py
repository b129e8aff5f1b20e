"""Translation: a source text becomes a target text."""
