"""Sequence labelling: a label for each word, such as its part of speech or the entity that it belongs to."""
