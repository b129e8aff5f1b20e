"""Encoding: from a frame with columns of any type to the numbers that a network reads, and back."""
