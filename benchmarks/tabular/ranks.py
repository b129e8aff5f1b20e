"""Who is better on a table: ranks, and wins of one against another. Scores are such that more is better."""

from collections.abc import Mapping

Score = float | None  # None: the method failed, which is worse than any score
DIGITS = 6  # that count: what differs by less is a tie


def ranks(scores: Mapping[str, Score]) -> dict[str, float]:
    """1 is the best; those who tie share the mean of their places; those who failed share the last ones."""
    values = {method: _value(score) for method, score in scores.items()}
    return {
        method: 1
        + sum(other > value for other in values.values())
        + (sum(other == value for other in values.values()) - 1) / 2
        for method, value in values.items()
    }


def duel(one: Score, other: Score) -> int:
    """1 for a win of the one, -1 for a loss, 0 for a tie."""
    first, second = _value(one), _value(other)
    return (first > second) - (first < second)


def _value(score: Score) -> float:
    return float("-inf") if score is None else float(f"{score:.{DIGITS}g}")
