"""Summarisation: a document becomes a short text."""
