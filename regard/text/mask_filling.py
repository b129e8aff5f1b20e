"""Mask filling: `the cat [MASK] on the mat` as tokens, and the predicted words put back into the text."""

from collections.abc import Sequence

from regard.text.tokenizer import Tokenizer

MASK_PLACEHOLDER = "[MASK]"  # as users write it, whatever the tokenizer calls its mask token


class MaskFilling:
    """Which tokens of a tokenizer can replace a mask, and how they join the text. Built once for many texts."""

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        pieces = tokenizer.pieces(range(tokenizer.vocab))
        # Whether tokens say that a space precedes them, or that none does.
        self.marks_words = any(len(piece) > 1 and piece.startswith(("Ġ", "▁", "##")) for piece in pieces)
        texts = tokenizer.decode([[token] for token in range(tokenizer.vocab)])
        self.fits = [self._fits(text) for text in texts]  # may replace a mask
        marks_spaces = any(len(piece) > 1 and piece.startswith(("Ġ", "▁")) for piece in pieces)
        begins = [piece.startswith(("Ġ", "▁")) if marks_spaces else not piece.startswith("##") for piece in pieces]
        self.begins_word = [fits and begin for fits, begin in zip(self.fits, begins, strict=True)]

    def _fits(self, text: str) -> bool:
        """Not special (decodes to nothing), no part of a character, no line end, not only a space."""
        printable = text != "" and "\ufffd" not in text and text.isprintable()
        return printable and bool(text.strip() or not self.marks_words)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text between start and end token, with the mask token for each placeholder."""
        mask, start, end = self.tokenizer.mask, self.tokenizer.start, self.tokenizer.end
        split = [text.split(MASK_PLACEHOLDER) for text in texts]
        # The space before a mask belongs to the missing word, if tokens include the space before them.
        flat = [
            part.rstrip() if self.marks_words and number < len(parts) - 1 else part
            for parts in split
            for number, part in enumerate(parts)
        ]
        tokens = iter(self.tokenizer.encode(flat))
        rows = []
        for parts in split:
            row = [start, *next(tokens)]
            for _ in parts[1:]:
                row += [mask, *next(tokens)]
            rows.append([*row, end])
        return rows

    def allowed(self, text: str) -> list[list[bool]]:
        """For each mask, the tokens that may replace it: after a space only one that begins a word."""
        before = text.split(MASK_PLACEHOLDER)[:-1]
        after_space = [part[-1:].isspace() and bool(part.strip() or number) for number, part in enumerate(before)]
        return [self.begins_word if self.marks_words and space else self.fits for space in after_space]

    def word(self, before: int, token: int) -> tuple[str, bool]:
        """The text of a token after the token `before`, and whether it joins it without a space."""
        [previous, both] = self.tokenizer.decode([[before], [before, token]])
        if not previous or not both.startswith(previous):  # the first of a text, or part of a character before it
            [text] = self.tokenizer.decode([[token]])
            continues = text.startswith("##") and len(text) > 2
            return (text.strip(), False) if self.marks_words and not continues else (text.removeprefix("##"), True)
        text = both[len(previous) :]
        return (text.strip(), False) if self.marks_words and text[:1].isspace() else (text, True)

    def label(self, before: int, token: int) -> str:
        """A token for a list of predictions: one that continues a word is marked with ##, as in BERT."""
        word, joins = self.word(before, token)
        return f"##{word}" if joins and self.marks_words and word[:1].isalnum() else word

    def fill(self, text: str, words: Sequence[tuple[str, bool]]) -> str:
        """The text with a word for each mask; the user's spaces stay, unless the word continues the one before."""
        first, *rest = text.split(MASK_PLACEHOLDER)
        filled = first
        for (word, joins), part in zip(words, rest, strict=True):
            filled = (filled.rstrip() if joins and self.marks_words else filled) + word + part
        return filled
