"""Embed: a vector for each text, and the texts whose vectors are nearest."""
