"""Dependency trees: CoNLL-U files, and the positions that a tree gives to tokens."""
