"""The budget of a run: the first to run out ends it, but a small file gets its minimum number of steps."""

import pytest

from regard.core.errors import ConfigError
from regard.train import Training


@pytest.mark.parametrize(
    ("settings", "steps_per_epoch", "total"),
    [
        ({"epochs": 5}, 10, 50),
        ({"epochs": 5, "min_steps": 100}, 10, 100),
        ({"epochs": 5, "min_steps": 100}, 1000, 5000),
        ({"epochs": 5, "min_steps": 100, "steps": 7}, 10, 7),
        ({"epochs": 0.01}, 10, 1),
        ({"minutes": 1, "min_steps": 100}, 10, None),
    ],
)
def test_total_steps(settings, steps_per_epoch, total):
    assert Training(**settings).total_steps(steps_per_epoch) == total


def test_fewer_than_no_steps_are_refused():
    with pytest.raises(ConfigError, match="min_steps"):
        Training(epochs=1, min_steps=-1)
