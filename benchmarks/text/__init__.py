"""Benchmarks of texts: learning, decoding, lengths, beams, trees."""
