"""Text to tokens and back."""

from regard.text.tokenizer import Characters, Tokenizer

__all__ = ["Characters", "Tokenizer"]
