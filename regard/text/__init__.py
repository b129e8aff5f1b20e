"""Text to tokens and back."""

from regard.text.gaps import GAP, Gaps
from regard.text.kinds import BPE, Bytes, Characters, Tokenizing, Unigram, WordPiece
from regard.text.tokenizer import Tokenizer

__all__ = ["BPE", "GAP", "Bytes", "Characters", "Gaps", "Tokenizer", "Tokenizing", "Unigram", "WordPiece"]
