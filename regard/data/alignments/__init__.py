"""Families of proteins and RNA: alignments, structures, and examples for training."""
