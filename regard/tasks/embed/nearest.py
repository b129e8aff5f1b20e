"""Exact search: the vectors with the largest cosine, by one matrix product.

A hundred thousand vectors of 384 numbers take some ten milliseconds; a vector database begins to pay at millions.
"""

from typing import NamedTuple

import numpy as np

from regard.core.errors import ConfigError, at_least

SMALLEST = 1e-12  # length of a vector, so that one of zeros is like none


class Hit(NamedTuple):
    row: int
    score: float


def nearest(vectors: np.ndarray, queries: np.ndarray, count: int = 10) -> list[list[Hit]]:
    """The rows of `vectors` that are nearest to each query, the best first; of equal ones the first row."""
    at_least(1, count=count)
    if vectors.ndim != 2 or queries.ndim != 2 or vectors.shape[1] != queries.shape[1]:
        raise ConfigError(f"vectors {vectors.shape} and queries {queries.shape}: need rows of the same length")
    scores = _unit(queries) @ _unit(vectors).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return [[Hit(int(row), float(scores[query, row])) for row in rows] for query, rows in enumerate(order)]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), SMALLEST)
