"""The learning-rate search, on known losses."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import UserError
from regard.studies.ablate.base import base_plan
from regard.studies.runner import learning_rate
from regard.studies.runner.folder import Job, Outcome, StudyFolder
from regard.studies.runner.learning_rate import find_learning_rate, minimum


def search(monkeypatch: pytest.MonkeyPatch, loss_at) -> learning_rate.LearningRate:
    def run_jobs(folder: StudyFolder, jobs: list[Job], *_: object, eta: bool) -> dict[str, Outcome]:
        return {job.key: Outcome(loss_at(job.plan.training.optimiser.lr), 1, 1.0) for job in jobs}

    monkeypatch.setattr(learning_rate, "run_jobs", run_jobs)
    plan = base_plan("lm", ("text.txt",), (), None, 1.0)
    return find_learning_rate(StudyFolder(Path("s")), plan, {}, None)


@pytest.mark.parametrize("best", [2e-4, 1e-3, 2.9e-3, 4e-3, 7e-2])
def test_a_minimum_is_found_however_far_it_is(monkeypatch: pytest.MonkeyPatch, best: float):
    result = search(monkeypatch, lambda rate: 1.5 + 0.1 * math.log2(rate / best) ** 2)
    assert result.value == pytest.approx(best, rel=1e-6), "a parabola is found exactly"
    assert min(result.losses) < best < max(result.losses)


def test_diverged_runs_are_not_interpolated(monkeypatch: pytest.MonkeyPatch):
    result = search(monkeypatch, lambda rate: None if rate > 2e-3 else 1 / rate)
    assert result.value == 2e-3
    assert result.losses[4e-3] is None


def test_the_search_is_bounded(monkeypatch: pytest.MonkeyPatch):
    result = search(monkeypatch, lambda rate: 1 / rate)
    assert result.value == pytest.approx(2e-3 * learning_rate.MAX_FACTOR)


def test_a_plan_that_always_diverges_says_so(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UserError, match=r"s: diverges at every learning rate from 3\.13e-05 to 0\.008"):
        search(monkeypatch, lambda rate: None)


@given(st.lists(st.floats(0.5, 5.0), min_size=4, max_size=8))
def test_the_minimum_is_between_the_neighbours_of_the_best(losses: list[float]):
    by_rate = {0.001 * 2**i: loss for i, loss in enumerate(losses)}
    best = min(by_rate, key=lambda rate: by_rate[rate])
    assert best / 2 <= minimum(by_rate) <= best * 2
