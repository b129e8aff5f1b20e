"""Fitting the joint law's five parameters, many fits at once: damped least squares with weights, clipped to bounds.

Huber's loss is least squares in which a residual beyond its corner weighs as much less as it lies further out. The
damping of each fit falls while its steps help and rises when one does not (Levenberg, 1944; Marquardt, 1963).
"""

import numpy as np
from jaxtyping import Float

HUBER = 1e-3  # residuals beyond it count by their size, not by their square
STEPS = 80
LOW = np.array([-5.0, -5.0, -8.0, 0.02, 0.02])  # of log a, log b, log floor, and the two powers
HIGH = np.array([8.0, 8.0, 5.0, 2.0, 2.0])
Array = np.ndarray
Places = Float[Array, "fit point two"]
Seen = Float[Array, "fit point"]
Found = Float[Array, "fit five"]


def descend(far: Places, seen: Seen, start: Found) -> tuple[Found, Float[Array, " fit"]]:
    """Where each fit ends that begins at its start, and its loss there in units of the corner."""
    found, damping = start, np.full(len(start), 1e-2)
    logs, slopes = logs_and_slopes(found, far)
    cost = _huber(logs - seen)
    for _ in range(STEPS):
        wrong = logs - seen
        weighed = slopes * (1 / np.maximum(np.abs(wrong) / HUBER, 1))[:, None]
        curve = weighed @ slopes.transpose(0, 2, 1)
        steeper = damping[:, None] * (np.diagonal(curve, axis1=1, axis2=2) + 1e-6)
        step = np.linalg.solve(curve + steeper[:, :, None] * np.eye(5), weighed @ wrong[..., None])[..., 0]
        tried = np.clip(found - step, LOW, HIGH)
        tried_logs, tried_slopes = logs_and_slopes(tried, far)
        tried_cost = _huber(tried_logs - seen)
        better = tried_cost < cost
        found = np.where(better[:, None], tried, found)
        logs = np.where(better[:, None], tried_logs, logs)
        slopes = np.where(better[:, None, None], tried_slopes, slopes)
        cost = np.where(better, tried_cost, cost)
        damping = np.clip(np.where(better, damping / 3, damping * 4), 1e-9, 1e9)
    return found, cost


def _huber(wrong: Seen) -> Float[Array, " fit"]:
    size = np.abs(wrong) / HUBER
    return np.asarray(np.where(size <= 1, size**2 / 2, size - 0.5).sum(-1))


def logs_and_slopes(found: Found, far: Places) -> tuple[Seen, Float[Array, "fit five point"]]:
    """The logarithm of the loss at every point, and its slopes in the five parameters."""
    a, b, floor, of_parameters, of_tokens = (found[:, number, None] for number in range(5))
    size, tokens = far[..., 0], far[..., 1]
    terms = np.stack([a - of_parameters * size, b - of_tokens * tokens, np.broadcast_to(floor, size.shape)], 1)
    top = terms.max(1, keepdims=True)
    logs = top[:, 0] + np.log(np.exp(terms - top).sum(1))
    shares = np.exp(terms - logs[:, None])
    return logs, np.concatenate([shares, -far.transpose(0, 2, 1) * shares[:, :2]], 1)
