"""Which words decide a label: how much the label's log-probability falls when a word is left out (Li et al., 2016)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

WORD = re.compile(r"\S+")

Probabilities = Callable[[Sequence[str]], Tensor]  # of each label for each text


@dataclass(frozen=True)
class Attribution:
    """A text, its most probable label, and what each word contributes to it."""

    text: str
    label: str
    probability: float
    words: tuple[tuple[str, float], ...]  # in nats; a positive number: the word speaks for the label


def attribute_label(text: str, labels: Sequence[str], probabilities: Probabilities) -> Attribution:
    places = [match.span() for match in WORD.finditer(text)]
    without = [text[:start] + text[end:] for start, end in places]
    whole, *rest = probabilities([text, *without])
    label = int(whole.argmax())
    logs = [float(one[label].clamp(min=1e-12).log()) for one in (whole, *rest)]
    words = tuple((text[start:end], logs[0] - log) for (start, end), log in zip(places, logs[1:], strict=True))
    return Attribution(text, labels[label], float(whole[label]), words)
