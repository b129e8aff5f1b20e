"""What llama.cpp knows: architectures by their parts, and vocabularies."""
