"""Text to tokens and back."""

from regard.text.gaps import GAP, Gaps
from regard.text.kinds import BPE, Auto, Bytes, Characters, Given, Tokenizing, Unigram, WordPiece
from regard.text.tokenizer import Roles, Tokenizer

__all__ = [
    "BPE",
    "GAP",
    "Auto",
    "Bytes",
    "Characters",
    "Gaps",
    "Given",
    "Roles",
    "Tokenizer",
    "Tokenizing",
    "Unigram",
    "WordPiece",
]
