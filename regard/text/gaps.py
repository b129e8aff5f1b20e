"""Gaps: a text with words left out, `the cat [MASK] on the mat`, as tokens, and the words put back in their place."""

from collections.abc import Sequence

from regard.text.tokenizer import Tokenizer

GAP = "[MASK]"


class Gaps:
    """How a tokenizer's words fit into gaps. Made once for many texts."""

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        written = tokenizer.pieces(range(tokenizer.vocab))
        # Whether a token brings the space before it along, or says that none stands there.
        self.words = any(len(piece) > 1 and piece.startswith(("Ġ", "▁", "##")) for piece in written)
        texts = tokenizer.decode([[token] for token in range(tokenizer.vocab)])
        self.fitting = [self._fits(text) for text in texts]  # tokens that may stand in a gap of a line
        marks_spaces = any(len(piece) > 1 and piece.startswith(("Ġ", "▁")) for piece in written)
        alone = [piece.startswith(("Ġ", "▁")) if marks_spaces else not piece.startswith("##") for piece in written]
        self.alone = [fits and own for fits, own in zip(self.fitting, alone, strict=True)]  # those that begin a word

    def _fits(self, text: str) -> bool:
        """Not special (decodes to nothing), no half of a character, no end of a line, no mere space for a word."""
        whole = text != "" and "\ufffd" not in text and text.isprintable()
        return whole and bool(text.strip() or not self.words)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text between start and end, with the mask token in its gaps."""
        mask, start, end = self.tokenizer.mask, self.tokenizer.start, self.tokenizer.end
        parts = [text.split(GAP) for text in texts]
        # The space before a gap belongs to the word that is missing, where words bring their spaces along.
        flat = [
            part.rstrip() if self.words and number < len(own) - 1 else part
            for own in parts
            for number, part in enumerate(own)
        ]
        tokens = iter(self.tokenizer.encode(flat))
        rows = []
        for own in parts:
            row = [start, *next(tokens)]
            for _ in own[1:]:
                row += [mask, *next(tokens)]
            rows.append([*row, end])
        return rows

    def allowed(self, text: str) -> list[list[bool]]:
        """For each gap the tokens that may stand there: after a space only one that begins a word."""
        before = text.split(GAP)[:-1]
        after_space = [part[-1:].isspace() and bool(part.strip() or number) for number, part in enumerate(before)]
        return [self.alone if self.words and space else self.fitting for space in after_space]

    def word(self, before: int, token: int) -> tuple[str, bool]:
        """A token as it is written after another, and whether it joins it without a space."""
        [alone, both] = self.tokenizer.decode([[before], [before, token]])
        if not alone or not both.startswith(alone):  # the first of a text, or a half character before it
            [own] = self.tokenizer.decode([[token]])
            goes_on = own.startswith("##") and len(own) > 2
            return (own.strip(), False) if self.words and not goes_on else (own.removeprefix("##"), True)
        own = both[len(alone) :]
        return (own.strip(), False) if self.words and own[:1].isspace() else (own, True)

    def shown(self, before: int, token: int) -> str:
        """A token for a list of guesses: letters that go on with the word before them are marked ##, as BERT does."""
        word, joins = self.word(before, token)
        return f"##{word}" if joins and self.words and word[:1].isalnum() else word

    def fill(self, text: str, words: Sequence[tuple[str, bool]]) -> str:
        """The text with a word in each gap; spaces stay as the user set them, unless the word goes on with another."""
        first, *rest = text.split(GAP)
        filled = first
        for (word, joins), part in zip(words, rest, strict=True):
            filled = (filled.rstrip() if joins and self.words else filled) + word + part
        return filled
