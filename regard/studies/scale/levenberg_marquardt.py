"""Levenberg–Marquardt for the joint scaling law: many robust fits at once (Levenberg, 1944; Marquardt, 1963).

Huber's loss is minimised as iteratively reweighted least squares, with parameters clipped to bounds.
`scipy.optimize.least_squares` finds the same optima (a test compares them) but one fit at a time, which makes a
bootstrap of a hundred fits about seventy times slower.
"""

import numpy as np
from jaxtyping import Float

HUBER_DELTA = 1e-3  # residuals beyond it count linearly instead of quadratically
ITERATIONS = 80
LOWER = np.array([-5.0, -5.0, -8.0, 0.02, 0.02])  # log a, log b, log floor, and the two exponents
UPPER = np.array([8.0, 8.0, 5.0, 2.0, 2.0])
Array = np.ndarray
Inputs = Float[Array, "fit point two"]  # log parameters and log tokens, centred
LogLosses = Float[Array, "fit point"]
Theta = Float[Array, "fit five"]


def levenberg_marquardt(inputs: Inputs, observed: LogLosses, start: Theta) -> tuple[Theta, Float[Array, " fit"]]:
    """The optimum of every fit from its starting point, and Huber's loss there in units of delta squared."""
    theta, damping = start, np.full(len(start), 1e-2)
    predicted, jacobian = log_loss_and_jacobian(theta, inputs)
    cost = _huber(predicted - observed)
    for _ in range(ITERATIONS):
        residuals = predicted - observed
        weighted = jacobian * (1 / np.maximum(np.abs(residuals) / HUBER_DELTA, 1))[:, None]
        hessian = weighted @ jacobian.transpose(0, 2, 1)
        damped = damping[:, None] * (np.diagonal(hessian, axis1=1, axis2=2) + 1e-6)
        step = np.linalg.solve(hessian + damped[:, :, None] * np.eye(5), weighted @ residuals[..., None])[..., 0]
        new_theta = np.clip(theta - step, LOWER, UPPER)
        new_predicted, new_jacobian = log_loss_and_jacobian(new_theta, inputs)
        new_cost = _huber(new_predicted - observed)
        better = new_cost < cost
        theta = np.where(better[:, None], new_theta, theta)
        predicted = np.where(better[:, None], new_predicted, predicted)
        jacobian = np.where(better[:, None, None], new_jacobian, jacobian)
        cost = np.where(better, new_cost, cost)
        damping = np.clip(np.where(better, damping / 3, damping * 4), 1e-9, 1e9)
    return theta, cost


def _huber(residuals: LogLosses) -> Float[Array, " fit"]:
    size = np.abs(residuals) / HUBER_DELTA
    return np.asarray(np.where(size <= 1, size**2 / 2, size - 0.5).sum(-1))


def log_loss_and_jacobian(theta: Theta, inputs: Inputs) -> tuple[LogLosses, Float[Array, "fit five point"]]:
    """The logarithm of the predicted loss at every point, and its derivatives by the five parameters."""
    a, b, floor, alpha, beta = (theta[:, i, None] for i in range(5))
    size, tokens = inputs[..., 0], inputs[..., 1]
    terms = np.stack([a - alpha * size, b - beta * tokens, np.broadcast_to(floor, size.shape)], 1)
    top = terms.max(1, keepdims=True)
    log_loss = top[:, 0] + np.log(np.exp(terms - top).sum(1))
    weights = np.exp(terms - log_loss[:, None])
    return log_loss, np.concatenate([weights, -inputs.transpose(0, 2, 1) * weights[:, :2]], 1)
