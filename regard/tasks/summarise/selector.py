"""Select the network's or the extractor's summary of each document.

Both are given the ROUGE-L that is to be expected of them: that of the network follows from how probable it finds its
summary, that of the span from the extractor's score, by a regression on validation documents. The network counts only
where these documents show that it helps, by more than the standard error; after a short training it rarely does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.config import Config

MIN_DOCUMENTS = 20  # validation documents that anything is fitted on


@dataclass(frozen=True)
class Selector(Config):
    """The network's summary where constant + network * (probability of a token) > extractor * (score of the span)."""

    constant: float = 1.0
    network: float = 0.0
    extractor: float = 0.0

    @property
    def never(self) -> bool:
        """Whether it takes the extractor's summary of every document."""
        return self.constant <= 0 and not self.network and not self.extractor

    def network_first(self, probabilities: Sequence[float], scores: Sequence[float]) -> np.ndarray:
        """For each document whether the summary of the network is the better one."""
        expected = self.constant + self.network * np.asarray(probabilities)
        return np.asarray(expected > self.extractor * np.asarray(scores))


EXTRACTOR_ALONE = Selector(constant=0.0)


def fit_selector(
    probabilities: Sequence[float], scores: Sequence[float], network: Sequence[float], extractor: Sequence[float]
) -> Selector:
    """The selector for documents where the summaries of the two have these values of ROUGE-L."""
    if len(network) < MIN_DOCUMENTS:
        return EXTRACTOR_ALONE
    of_network, of_extractor = _line(probabilities, network), _line(scores, extractor)
    selector = Selector(round(of_network[0] - of_extractor[0], 4), round(of_network[1], 4), round(of_extractor[1], 4))
    first = selector.network_first(probabilities, scores)
    gain = np.where(first, np.asarray(network) - np.asarray(extractor), 0.0)
    return selector if gain.mean() > gain.std() / len(gain) ** 0.5 else EXTRACTOR_ALONE


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Least squares with a slope that is not negative: what is likelier is not worse."""
    centred = np.asarray(x) - np.mean(x)
    slope = max(0.0, float(centred @ np.asarray(y)) / max(float(centred @ centred), 1e-9))
    return float(np.mean(y) - slope * np.mean(x)), slope
