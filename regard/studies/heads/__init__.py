"""Heads: what each attends to, and how much the loss rises without it."""
