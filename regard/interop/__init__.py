"""Doors to other tools: Hugging Face folders in and out."""
