"""Prefixes: what was read for one prompt need not be read again for another that begins alike (Kwon et al., 2023).

Only requests of the same client share what was read: the time that an answer takes would tell others what was asked.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch

SHORTEST = 16  # tokens: reading fewer takes no longer than looking them up


class Prefixes:
    """The states of the newest prompts, of at most `tokens` tokens in all."""

    def __init__(self, tokens: int):
        self.tokens = tokens
        self._states: OrderedDict[tuple[str, tuple[int, ...]], Any] = OrderedDict()

    def add(self, client: str, prompt: Sequence[int], state: Any) -> None:
        if not hasattr(state, "prefix") or not SHORTEST <= len(prompt) <= self.tokens:
            return
        key = client, tuple(prompt)
        self._states[key] = state
        self._states.move_to_end(key)
        while sum(len(known) for _, known in self._states) > self.tokens:
            self._states.popitem(last=False)

    def find(self, client: str, prompt: Sequence[int]) -> tuple[int, Any]:
        """How many of the first tokens are known, and a state that has read them. The last token is always read."""
        best, nearest = 0, None
        for key in self._states:
            if key[0] == client:
                common = min(_common(key[1], prompt), len(prompt) - 1)
                if common > best:
                    best, nearest = common, key
        if nearest is None or best < SHORTEST:
            return 0, None
        self._states.move_to_end(nearest)
        return best, self._states[nearest].prefix(torch.tensor([list(prompt[:best])]))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many of the first tokens are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
