"""Temperature calibration of class probabilities on held-out rows (Guo et al., 2017).

Label attention over many rows, averaged over ensemble members, spreads over all classes: the most probable class is
mostly right, but with too small a probability. A temperature keeps the order of the classes and corrects how confident
the predictions are.
"""

import math

from jaxtyping import Float
from torch import Tensor

TEMPERATURES = tuple(2 ** (-step / 4) for step in range(-4, 9))  # from 2 to 1/4
PRIOR_STD = 0.5  # of the log temperature: few held-out rows alone must not make predictions very confident
MIN_PROBABILITY = 1e-6


def apply_temperature(probabilities: Float[Tensor, "row class"], temperature: float) -> Float[Tensor, "row class"]:
    if temperature == 1:
        return probabilities
    scaled = probabilities ** (1 / temperature)
    return scaled / scaled.sum(-1, keepdim=True)


def fit_temperature(probabilities: Float[Tensor, "row class"], classes: Float[Tensor, " row"]) -> float:
    """The temperature with the largest posterior, given the true classes of these rows."""

    def loss(temperature: float) -> float:
        true = apply_temperature(probabilities, temperature).gather(1, classes.long()[:, None])
        return -true.clamp(min=MIN_PROBABILITY).log().sum().item() + (math.log(temperature) / PRIOR_STD) ** 2 / 2

    return min(TEMPERATURES, key=loss)
