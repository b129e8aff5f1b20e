"""How sure a table's answers are of one class among many, set right by rows that were held out.

Votes of many rows, averaged over several views, spread over all the classes there are: what wins is mostly right, and
yet is given a small chance. Raising chances to a power keeps their order in a row and mends how sure they are (Guo et
al., 2017, there as a temperature).
"""

import math

from jaxtyping import Float
from torch import Tensor

POWERS = tuple(2 ** (step / 4) for step in range(-4, 9))  # from 1/2 to 4
DOUBT = 0.5  # of the logarithm of the power, before any row was seen: few rows alone do not make answers very sure
LEAST = 1e-6  # chance


def sharpened(chances: Float[Tensor, "row class"], power: float) -> Float[Tensor, "row class"]:
    if power == 1:
        return chances
    raised = chances**power
    return raised / raised.sum(-1, keepdim=True)


def best_power(chances: Float[Tensor, "row class"], truth: Float[Tensor, " row"]) -> float:
    """The power that makes the truth likeliest."""

    def loss(power: float) -> float:
        right = sharpened(chances, power).gather(1, truth.long()[:, None])
        return -right.clamp(min=LEAST).log().sum().item() + (math.log(power) / DOUBT) ** 2 / 2

    return min(POWERS, key=loss)
