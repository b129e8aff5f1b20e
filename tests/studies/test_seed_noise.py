"""What seeds do by themselves is never called an effect; what they cannot do is."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from regard.core.errors import ConfigError
from regard.studies.ablate.seed_noise import SeedNoise, effect

BASE = SeedNoise((2.00, 2.02, 1.98, 2.01, 1.99))


def test_the_margin_is_students_where_the_spreads_are_alike():
    """An oracle: at the edge of the margin a t-test that shares one deviation would give five in a hundred."""
    base = (1.0, 2.0, 3.0, 4.0)
    noise = SeedNoise(base)
    margin = noise.margin(base)
    moved = [loss + margin for loss in base]
    p = ttest_ind(base, moved).pvalue  # counts the seeds of both: a little surer than we are
    assert 0.01 < p < 0.05


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        ([2.005, 1.995, 2.0], "no effect"),
        ([2.5, 2.51, 2.49], "worse"),
        ([1.5, 1.51, 1.49], "better"),
        ([1.0, 3.0, 2.5], "no effect"),  # erratic: its own spread counts
        ([None, None, None], "diverges"),
        ([2.5, None, 2.51], "worse; 1 of 3 diverged"),
        ([9.0], "worse"),
    ],
)
def test_verdicts(losses: list[float | None], verdict: str):
    assert effect("x", losses, BASE).verdict == verdict


def test_a_change_without_effect_is_rarely_called_one():
    rng, called, times = np.random.default_rng(0), 0, 400
    for _ in range(times):
        base, same = rng.normal(2, 0.05, 5), rng.normal(2, 0.05, 3)
        called += effect("same", same.tolist(), SeedNoise(tuple(base.tolist()))).verdict != "no effect"
    assert called / times < 0.07


def test_one_run_of_the_base_has_no_noise():
    with pytest.raises(ConfigError, match="at least two seeds"):
        SeedNoise((2.0,))
