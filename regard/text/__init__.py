"""Text to tokens and back."""

from regard.text.kinds import BPE, Bytes, Characters, Tokenizing, Unigram, WordPiece
from regard.text.tokenizer import Tokenizer

__all__ = ["BPE", "Bytes", "Characters", "Tokenizer", "Tokenizing", "Unigram", "WordPiece"]
