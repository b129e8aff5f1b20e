"""Text to tokens and back."""

from regard.text.config import (
    BPE,
    Auto,
    Bytes,
    Characters,
    TokenizerConfig,
    TokenizerFile,
    Unigram,
    WordPiece,
    train_tokenizer,
)
from regard.text.mask_filling import MASK_PLACEHOLDER, MaskFilling
from regard.text.tokenizer import SpecialTokens, Tokenizer, check_vocab

__all__ = [
    "BPE",
    "MASK_PLACEHOLDER",
    "Auto",
    "Bytes",
    "Characters",
    "MaskFilling",
    "SpecialTokens",
    "Tokenizer",
    "TokenizerConfig",
    "TokenizerFile",
    "Unigram",
    "WordPiece",
    "check_vocab",
    "train_tokenizer",
]
