"""Text from tokens as they come: each new token is decoded with the few before it, not with all that was written.

What a token adds to the text depends on its neighbours: a character may take several tokens, and some tokenizers drop
the space that a text begins with. So text is given out once it is complete, and the tokens of the last piece that was
given out are decoded again with the next one.
"""

from collections.abc import Sequence

from regard.text import Tokenizer

CONTEXT = 8  # tokens of the prompt that the first tokens are decoded with
INCOMPLETE = "\ufffd"  # what a tokenizer makes of a part of a character


class TextStream:
    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int]):
        self._tokenizer = tokenizer
        self._before = list(prompt[-CONTEXT:])  # tokens whose text is known
        self._new: list[int] = []  # tokens after them, whose text has not been given out yet

    def add(self, token: int) -> str:
        """The text that is complete with this token; empty while a character is not."""
        self._new.append(token)
        text = self.rest()
        if not text or text.endswith(INCOMPLETE) or self._tokenizer.is_byte(token):
            return ""  # a run of single bytes is decoded as a whole, where it ends
        self._before, self._new = self._new, []
        return text

    def rest(self) -> str:
        """The text of the tokens that have not been given out."""
        return _after(self._tokenizer, self._before, self._new)


class StoppableText:
    """Text that ends before the first of some stop texts; what may become one of them is held back."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stop: Sequence[str]):
        self.stopped = False
        self._stream, self._stop = TextStream(tokenizer, prompt), tuple(stop)
        self._held_back = max(map(len, self._stop), default=1) - 1
        self._pending = ""

    def add(self, token: int) -> str:
        """The text that is certain with this token; all that is left before a stop text, where one has come."""
        self._pending += self._stream.add(token)
        whole = self.rest() if self._stop else ""
        if (end := min((whole.find(word) for word in self._stop if word in whole), default=None)) is not None:
            self.stopped = True
            return whole[:end]
        certain = max(0, len(self._pending) - self._held_back)
        text, self._pending = self._pending[:certain], self._pending[certain:]
        return text

    def rest(self) -> str:
        """What was held back, and the text of the last tokens."""
        return self._pending + self._stream.rest()


def continuation(tokenizer: Tokenizer, prompt: Sequence[int], written: Sequence[int]) -> str:
    """The text of what was written after a prompt: decoded alone, it might lose the space that it begins with."""
    return _after(tokenizer, prompt[-CONTEXT:], written)


def _after(tokenizer: Tokenizer, prompt: Sequence[int], written: Sequence[int]) -> str:
    [before, both, alone] = tokenizer.decode([prompt, [*prompt, *written], written])
    return both[len(before) :] if both.startswith(before) else alone
