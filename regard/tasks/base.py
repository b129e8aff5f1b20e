"""What a task is: where data, model and score meet. The trainer sees nothing else of either."""

from typing import NamedTuple

from torch import Tensor


class Loss(NamedTuple):
    """A sum and the number of things summed, so that parts of a batch add up to exactly the whole."""

    total: Tensor
    terms: Tensor
