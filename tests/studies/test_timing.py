"""The time there is, is shared out before a study begins."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import ConfigError
from regard.models import GPT
from regard.parts import Window
from regard.studies.ablate.ablation import BASE, Ablation, Variants, _budget
from regard.studies.ablate.base import base_plan
from regard.studies.runner.prepare import prepared
from regard.studies.runner.timing import MIN_STEPS, Timing, estimate, measure_timing, steps_within
from regard.tasks.plan import Plan

TIMINGS = st.lists(st.builds(Timing, st.floats(1e-3, 1.0), st.floats(0.0, 3.0)), min_size=1, max_size=20)


@given(TIMINGS, st.floats(1.0, 1e5))
def test_all_runs_together_fill_the_available_time(timings: list[Timing], seconds: float):
    if sum(timing.run(MIN_STEPS) for timing in timings) > seconds:
        with pytest.raises(ConfigError, match="give more minutes"):
            steps_within(seconds, timings)
        return
    steps = steps_within(seconds, timings)
    assert sum(timing.run(steps) for timing in timings) <= seconds * (1 + 1e-9)
    assert sum(timing.run(steps + 1) for timing in timings) > seconds * (1 - 1e-9)


def test_the_estimate_has_runs_seconds_and_cores():
    assert estimate([30.0, 90.0], 2) == "2 runs of about 60 s on 2 cores: about 1:00"


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "text.txt").write_text("to be, or not to be: that is the question.\n" * 30)
    plan = base_plan("lm", (str(tmp_path / "text.txt"),), (), None, 1.0)
    model = GPT(width=8, layers=1, heads=1, vocab=40)
    return replace(plan, model=model, training=replace(plan.training, batch_size=2))


def test_timing_leaves_no_files(plan: Plan, tmp_path: Path):
    with prepared(plan, tmp_path / "run") as ready:
        timing = measure_timing(replace(plan, model=ready.model), ready)
    assert timing.step > 0
    assert timing.evaluation > 0
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("kind", ["tokens", "time"])
def test_minutes_become_equal_steps_or_equal_minutes(plan: Plan, kind: str):
    """A change whose step takes ten times the base's is left out if all take equally many steps."""
    slow = replace(plan, model=replace(plan.model, attention=Window()))
    timings = {BASE: Timing(0.1, 0.0), "window": Timing(1.0, 0.0)}
    study = Ablation(task="lm", data=("text.txt",), seeds=1, budget=kind)  # type: ignore[arg-type]
    variants = Variants({BASE: plan, "window": slow}, (), {})
    budget = _budget(study, 100.0, variants, timings)
    if kind == "tokens":
        assert list(budget.slow) == ["window"]
        assert budget.steps == int((100 - 7 * 5) / (7 * 0.115)), "three seeds of the base, and four learning rates"
    else:
        assert not budget.slow
        assert budget.minutes is not None
        assert 60 * budget.minutes == pytest.approx((100 - 8 * 5) / 8)
    assert variants.without(budget.slow).left_out.keys() == budget.slow.keys()
