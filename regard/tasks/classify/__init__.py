"""Text classification: predict the label of a text."""
