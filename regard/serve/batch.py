"""The running batch: texts join and leave it at any step (continuous batching, Yu et al., 2022).

Where a model cannot join texts of different lengths, since its attention looks at places and not at distances, each
text has a state of its own, and they are stepped in turn.
"""

from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from regard.decode import TextWriter

T = TypeVar("T")


class Batch(Generic[T]):
    def __init__(self, model: TextWriter):
        self.model = model
        self.joins: bool = getattr(model, "joins_texts", False)
        self._groups: list[tuple[Any, list[T]]] = []  # states, and the texts that they are the states of

    @property
    def texts(self) -> list[T]:
        return [text for _, texts in self._groups for text in texts]

    def join(self, text: T, state: Any) -> None:
        """A text whose prompt was read; the state is used up."""
        if not self.joins or not self._groups:
            self._groups.append((state, [text]))
        else:
            [(running, texts)] = self._groups
            self._groups = [(running.join(state), [*texts, text])]

    def leave(self, finished: list[T]) -> None:
        """By identity: texts need not be comparable."""
        gone = {id(text) for text in finished}
        groups = []
        for state, texts in self._groups:
            stay = [place for place, text in enumerate(texts) if id(text) not in gone]
            if len(stay) == len(texts):
                groups.append((state, texts))
            elif stay:
                rows = torch.tensor(stay, device=self.model.device)
                groups.append((state.select(rows), [texts[place] for place in stay]))
        self._groups = groups

    def step(self, tokens: dict[int, int]) -> Tensor:
        """The scores after the newest token of each text, in the order of `texts`; tokens by `id(text)`."""
        scores = []
        for place, (state, texts) in enumerate(self._groups):
            column = torch.tensor([[tokens[id(text)]] for text in texts], device=self.model.device)
            some, state = self.model.step(column, state)
            self._groups[place] = state, texts
            scores.append(some[:, -1])
        return torch.cat(scores)
