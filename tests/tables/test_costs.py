"""Lift and costs against brute force, and the threshold that fit proposes."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from regard.core.errors import ConfigError
from regard.tables.costs import Cost, cheapest_threshold, mean_cost, read_cost, short_number
from regard.tables.lift import cumulative_gain, lift_table
from tests.command import regard
from tests.tables.test_rare_class import frauds


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.3])), min_size=1, max_size=5))
def test_gain_is_the_mean_over_all_orders_of_equal_rows(rows: list[tuple[bool, float]]):
    truth, probability = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    orders = [order for order in permutations(rows) if [row[1] for row in order] == sorted(probability, reverse=True)]
    found = np.mean([np.cumsum([row[0] for row in order]) for order in orders], axis=0) / max(1, truth.sum())
    np.testing.assert_allclose(cumulative_gain(truth, probability), [0, *found], atol=1e-12)


@given(st.integers(1, 9), st.integers(0, 99))
def test_lift_of_the_top_rows_is_their_rate_over_that_of_all(tens: int, seed: int):
    rng = np.random.default_rng(seed)
    truth, probability = rng.random(10 * tens) < 0.3, rng.permutation(10 * tens) / (10 * tens)
    truth[0] = True
    table = lift_table(truth, probability)
    order = np.argsort(-probability)
    for tenth in range(1, 11):
        top = truth[order[: tens * tenth]]
        one = table[f"top_{10 * tenth}%"]
        assert one["gain"] == pytest.approx(top.sum() / truth.sum())
        assert one["lift"] == pytest.approx(top.mean() / truth.mean())


@given(st.integers(2, 40), st.integers(0, 99), st.sampled_from([Cost(1, 20), Cost(1, 1), Cost(5, 1), Cost(1, 1e6)]))
def test_no_threshold_costs_less(rows: int, seed: int, cost: Cost):
    rng = np.random.default_rng(seed)
    truth, probability = rng.random(rows) < 0.3, rng.random(rows).round(rng.integers(1, 4))
    best = cheapest_threshold(truth, probability, cost)
    assert 0 < best < 1
    every = {each for each in probability if 0 < each < 1} | {1e-9, 1 - 1e-9}  # detects every set that one can
    least = min(mean_cost(truth, probability, each, cost) for each in every)
    assert mean_cost(truth, probability, best, cost) == pytest.approx(least)
    _, alarms, misses, _ = confusion_matrix(truth, probability >= best, labels=[False, True]).ravel()
    assert mean_cost(truth, probability, best, cost) * rows == pytest.approx(
        cost.false_alarm * alarms + cost.miss * misses
    )


def test_the_threshold_of_calibrated_probabilities_is_preferred():
    truth, probability = np.array([False, False, True, True]), np.array([0.01, 0.02, 0.8, 0.9])
    assert cheapest_threshold(truth, probability, Cost(1, 19)) == pytest.approx(
        0.1
    )  # 0.05 rounded, between 0.02 and 0.8
    assert cheapest_threshold(truth, probability, Cost(1, 1)) == 0.5


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_min=True))
def test_a_short_number_lies_in_its_range(low: float, high: float):
    if low < high:
        assert low < short_number(low, high) <= high


def test_fit_proposes_a_threshold_that_predict_takes(tmp_path: Path, capsys: pytest.CaptureFixture):
    frauds(200).to_csv(tmp_path / "t.csv", index=False)
    words = ("--target", "fraud", "--mode", "in_context", "--cost", "1:20", "--json", "--out", tmp_path / "run")
    assert regard("fit", tmp_path / "t.csv", *words) == 0
    printed = capsys.readouterr()
    threshold = json.loads(printed.out)["thresholds"]["threshold_cost"]
    assert "note: cost 1:20 (false alarm : miss) of 1: mean cost per held-out row " in printed.err
    assert f" with --threshold {threshold:g} (the least" in printed.err
    assert regard("predict", tmp_path / "run", tmp_path / "t.csv", "--out", tmp_path / "p.csv") == 0
    assert f"fit proposed --threshold {threshold:g}\n" in capsys.readouterr().err
    assert regard("evaluate", tmp_path / "run", tmp_path / "t.csv", "--threshold", threshold) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["lift:", "gain", "lift"] for line in lines)
    assert any(line.startswith("top_10% ") for line in lines)
    assert sum("  1.0000  " in line for line in lines if line.startswith("top_")) <= 1
    assert any(line.startswith("most_frequent_training_class_accuracy: 0.") for line in lines)
    for cost, message in (("20", "must be two numbers"), ("1:0", "more than 0"), ("1:x", "must be two numbers")):
        assert regard("fit", tmp_path / "t.csv", "--target", "fraud", "--cost", cost, "--out", tmp_path / "other") == 2
        assert f"--cost {cost}: " in (error := capsys.readouterr().err)
        assert message in error
    assert regard("fit", tmp_path / "t.csv", "--target", "amount", "--cost", "1:2", "--out", tmp_path / "other") == 2
    assert "--cost 1:2: is for a target with two classes" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_costs_are_read():
    assert read_cost("1:20") == Cost(1, 20)
    assert read_cost("0.5:2").threshold == 0.2
    with pytest.raises(ConfigError, match="--cost 1:2:3"):
        read_cost("1:2:3")
