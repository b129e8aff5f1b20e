"""The search for a rate, on losses that are known beforehand."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import UserError
from regard.studies.ablate.base import base_plan
from regard.studies.runner import learning_rate as rates
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.learning_rate import find_rate, lowest


def search(monkeypatch: pytest.MonkeyPatch, loss_at) -> rates.Rate:
    def run_jobs(folder: StudyFolder, jobs: list[Job], *_: object) -> dict[str, Outcome]:
        return {job.key: Outcome(loss_at(job.plan.training.optimiser.lr), 1, 1.0) for job in jobs}

    monkeypatch.setattr(rates, "run_jobs", run_jobs)
    plan = base_plan("lm", ("text.txt",), (), None, 1.0)
    return find_rate(StudyFolder(Path("s")), plan, {}, None, lambda line: None)


@pytest.mark.parametrize("best", [2e-4, 1e-3, 2.9e-3, 4e-3, 7e-2])
def test_a_valley_is_found_however_far_it_is(monkeypatch: pytest.MonkeyPatch, best: float):
    found = search(monkeypatch, lambda rate: 1.5 + 0.1 * math.log2(rate / best) ** 2)
    assert found.value == pytest.approx(best, rel=1e-6), "a parabola is found exactly"
    assert min(found.tried) < best < max(found.tried)


def test_rates_that_diverge_are_no_neighbours(monkeypatch: pytest.MonkeyPatch):
    found = search(monkeypatch, lambda rate: None if rate > 2e-3 else 1 / rate)
    assert found.value == 2e-3
    assert found.tried[4e-3] is None


def test_a_slope_without_end_is_followed_so_far_and_no_farther(monkeypatch: pytest.MonkeyPatch):
    found = search(monkeypatch, lambda rate: 1 / rate)
    assert found.value == pytest.approx(2e-3 * rates.FARTHEST)


def test_a_plan_that_always_diverges_says_so(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UserError, match=r"s: diverges at every rate from 3\.13e-05 to 0\.008"):
        search(monkeypatch, lambda rate: None)


@given(st.lists(st.floats(0.5, 5.0), min_size=4, max_size=8))
def test_what_is_taken_lies_beside_the_best_that_was_tried(losses: list[float]):
    tried = {0.001 * 2**i: loss for i, loss in enumerate(losses)}
    best = min(tried, key=lambda rate: tried[rate])
    assert best / 2 <= lowest(tried) <= best * 2
