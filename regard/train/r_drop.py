"""R-Drop: a batch is read twice with other dropout, and both predictions are pulled together (Liang et al., 2021).

A step takes twice as long; small models that overfit gain most.
"""

from typing import Any

import torch.nn.functional as F
from torch import nn

from regard.core.batches import GivesLogits, Loss


def r_drop_loss(task: GivesLogits, model: nn.Module, batch: Any, weight: float) -> Loss:
    """The mean of both losses, and the symmetric divergence of the two predictions."""
    (one, logits), (two, other) = (task.loss_and_logits(model, batch) for _ in range(2))
    p, q = F.log_softmax(logits.float(), -1), F.log_softmax(other.float(), -1)
    divergence = (
        F.kl_div(p, q, log_target=True, reduction="sum") + F.kl_div(q, p, log_target=True, reduction="sum")
    ) / 2
    return Loss((one.total + two.total + weight * divergence) / 2, one.terms)
