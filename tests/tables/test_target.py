"""The target: its transforms, its classes, and sample weights."""

from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from regard.core.errors import ConfigError
from regard.tables.encode.sample_weight import MAX_REPEATS, repeat_rows
from regard.tables.encode.table import EncodedTable
from regard.tables.encode.target import Classes, TargetTransform, as_numbers, target_columns, target_names
from regard.tables.ensemble import ALL_MEMBERS_ROWS, MAX_CONTEXT_ROWS, affordable_members, draw_member
from regard.tables.network.in_context_loss import quantile_levels
from regard.tables.plain_numbers import plain_number
from regard.tables.predictions import TargetPredictions, sentence
from regard.tables.predictor import interpolate_quantiles

TRANSFORMS = [TargetTransform.standardise, TargetTransform.quantile]
# Numbers as tables have them: whole, halves, of any size and shift.
values = st.lists(st.integers(-1000, 1000).map(lambda x: x / 2), min_size=1, max_size=60)
shapes = st.tuples(st.sampled_from([1e-20, 1e-3, 1.0, 1e6, 1e30]), st.sampled_from([0.0, 1.0, -1e3]))


def numbers(drawn: list[float], shape: tuple[float, float]) -> torch.Tensor:
    size, shift = shape
    return torch.tensor(drawn, dtype=torch.double) * size + shift * size


@pytest.mark.parametrize("kind", TRANSFORMS)
@given(drawn=values, shape=shapes, asked=values)
def test_the_inverse_of_a_transform_gives_the_number_back(kind: Any, drawn: list, shape: tuple, asked: list):
    known, other = numbers(drawn, shape), numbers(asked, shape)
    transform = kind(known)
    near = known.abs().max() + other.abs().max()
    torch.testing.assert_close(transform.inverse(transform.forward(known)), known, rtol=1e-9, atol=1e-9 * float(near))
    torch.testing.assert_close(transform.inverse(transform.forward(other)), other, rtol=1e-9, atol=1e-9 * float(near))


@pytest.mark.parametrize("kind", TRANSFORMS)
@given(drawn=values, shape=shapes)
def test_a_transform_is_monotone(kind: Any, drawn: list, shape: tuple):
    known = numbers(drawn, shape).sort().values
    shown = kind(known).forward(known)
    assert (shown.diff()[known.diff() > 0] > 0).all()
    assert (shown.diff()[known.diff() == 0] == 0).all()


@pytest.mark.parametrize("kind", TRANSFORMS)
@given(drawn=values, shape=shapes)
def test_transformed_numbers_have_mean_0_and_standard_deviation_1(kind: Any, drawn: list, shape: tuple):
    known = numbers(drawn, shape)
    assume(known.unique().numel() == len(known) > 2)  # the quantile transform counts ties once
    shown = kind(known).forward(known)
    torch.testing.assert_close(shown.mean(), torch.tensor(0.0).double(), rtol=0, atol=1e-6)
    torch.testing.assert_close(shown.std(correction=0), torch.tensor(1.0).double(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", TRANSFORMS)
@pytest.mark.parametrize("value", [0.0, 7.0, -1e30])
def test_a_constant_becomes_0_and_comes_back(kind: Any, value: float):
    known = torch.full((5,), value, dtype=torch.double)
    assert (kind(known).forward(known) == 0).all()
    assert (kind(known).inverse(torch.zeros(2)) == value).all()


def test_a_quantile_transform_of_many_numbers_has_few_knots_and_is_accurate():
    known = torch.randn(5000, dtype=torch.double).exp()
    transform = TargetTransform.quantile(known)
    assert len(transform.numbers) == 512
    shown = transform.forward(known).sort().values
    ideal = torch.special.ndtri((torch.arange(5000, dtype=torch.double) + 0.5) / 5000)
    assert (shown - ideal)[50:-50].abs().max() < 0.05


@given(arrays(np.float64, st.integers(1, 30), elements=st.integers(0, 4).map(float)), st.integers(0, 9))
def test_whole_weights_are_counts(weights: np.ndarray, seed: int):
    assume(weights.any())
    rows = repeat_rows(len(weights), weights, seed)
    assert np.bincount(rows, minlength=len(weights)).tolist() == weights.astype(int).tolist()


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1e12)), st.integers(0, 9))
def test_weights_of_any_kind_leave_rows_and_not_too_many(weights: np.ndarray, seed: int):
    assume(weights.any())
    rows = repeat_rows(len(weights), weights, seed)
    assert 1 <= len(rows) <= (MAX_REPEATS + 1) * len(weights)
    assert (weights[rows] > 0).all()


@pytest.mark.parametrize("size", [1e-10, 1.0, 1e5, 1e20])
def test_only_the_shares_of_weights_count_where_they_are_no_counts(size: float):
    weights = np.array([0.5, 1.5, 1.0, 3.3]).repeat(1000) * size
    counts = np.bincount(repeat_rows(4000, weights, 0), minlength=4000).reshape(4, 1000).sum(1)
    np.testing.assert_allclose(counts / counts.sum(), np.array([0.5, 1.5, 1.0, 3.3]) / 6.3, atol=0.02)


def test_large_counts_are_made_small():
    assert repeat_rows(3, [100, 200, 100], 0).tolist() == [0, 1, 1, 2]
    assert repeat_rows(2, 3.0, 0).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("weights", [[1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0], [[1.0, 1.0]]])
def test_weights_that_cannot_be_meant_are_refused(weights: list):
    with pytest.raises(ConfigError, match=r"^sample_weight: "):
        repeat_rows(2, weights, 0)


@pytest.mark.parametrize(
    ("y", "labels", "codes"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        ([3, 1, 1], [1, 3], [1, 0, 0]),
        ([True, False], [False, True], [1, 0]),
        (pd.Series(["b", "a"], dtype="category"), ["a", "b"], [1, 0]),
        (pd.Series([2, 1], dtype="Int64"), [1, 2], [1, 0]),
        (polars.Series(["b", "a"]), ["a", "b"], [1, 0]),
    ],
)
def test_classes_are_counted_in_sorted_order(y: Any, labels: list, codes: list):
    (column,) = target_columns(y)
    classes, found = Classes.fit(column)
    assert (classes.labels.tolist(), found.tolist()) == (labels, codes)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y to be passed"),
        ([1.0, np.nan], r"row 1 \(counted from 0\) has no target"),
        (["a", None], r"row 1 \(counted from 0\) has no target"),
        (pd.Series([1, pd.NA], dtype="Int64"), r"row 1 \(counted from 0\) has no target"),
    ],
)
def test_targets_that_are_not_known_are_refused(y: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        target_columns(y)


def test_labels_that_have_no_order_and_too_many_are_refused():
    with pytest.raises(ConfigError, match="mixes labels of several types"):
        Classes.fit(np.array(["a", 1], dtype=object))
    with pytest.raises(ConfigError, match=r"1,001 classes.*NPTRegressor"):
        Classes.fit(np.arange(1001))


@pytest.mark.parametrize("far", [np.inf, -np.inf, 1e39])
def test_numbers_beyond_32_bits_are_refused(far: float):
    with pytest.raises(ConfigError, match=r"row 1 \(counted from 0\)"):
        as_numbers(np.array([1.0, far]))


def test_targets_keep_their_names():
    assert target_names(pd.Series([1], name="price"), 1) == ["price"]
    assert target_names(pd.DataFrame({"a": [1], "b": [2]}), 2) == ["a", "b"]
    assert target_names(np.ones((2, 2)), 2) == [None, None]
    assert target_names([1, 2], 1) == [None]
    assert target_names(polars.DataFrame({"a": [1], "b": [2]}), 2) == ["a", "b"]


@given(
    arrays(np.float64, st.integers(3, 9), elements=st.floats(-1e6, 1e6)), st.lists(st.floats(0.001, 0.999), min_size=1)
)
def test_quantiles_rise_and_are_the_networks_own_at_its_own_levels(heights: np.ndarray, levels: list):
    heights = np.sort(heights)
    answer = torch.tensor([[0.0, *heights]], dtype=torch.double)
    own = quantile_levels(len(heights)).double()
    torch.testing.assert_close(
        interpolate_quantiles(answer, own.tolist())[0], torch.from_numpy(heights), rtol=1e-5, atol=1e-2
    )
    assert (interpolate_quantiles(answer, sorted(levels))[0].diff() >= -1e-6 * (1 + np.abs(heights).max())).all()


def test_a_large_table_is_subsampled_and_keeps_rare_classes():
    target = torch.zeros(50_000)
    target[:20], target[20:25] = 1.0, 2.0
    table = EncodedTable(torch.randn(50_000, 3), torch.zeros(3, dtype=torch.bool), target[torch.randperm(50_000)], 3)
    rows = draw_member(table, 0, 0).context_rows
    assert len(rows) == MAX_CONTEXT_ROWS == len(rows.unique())
    counts = table.target[rows].long().bincount()
    assert counts[1] >= 16
    assert counts[2] == 5
    assert not torch.equal(rows, draw_member(table, 1, 0).context_rows)


def test_fewer_members_read_more_rows():
    def members(rows: int, count: int) -> int:
        table = EncodedTable(torch.zeros(rows, 1), torch.zeros(1, dtype=torch.bool), torch.zeros(rows), 0)
        return affordable_members(table, count)

    assert members(ALL_MEMBERS_ROWS, 8) == 8
    assert members(2000, 8) == 4
    assert members(4000, 8) == members(100_000, 8) == 2
    assert members(4000, 32) == 8, "who asks for more gets more"
    assert members(100_000, 1) == 1


def test_tables_of_many_classes_and_columns_are_subsampled():
    table = EncodedTable(torch.randn(3000, 500), torch.zeros(500, dtype=torch.bool), torch.arange(3000.0) % 1000, 1000)
    member = draw_member(table, 0, 0)
    assert len(member.columns) == 64
    assert 300 <= len(member.context_rows) < 1000


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1", "tall"], "y: 'tall' is not a number; use NPTClassifier for classes"),
        (pd.date_range("2024-01-01", periods=2), "y: holds dates or time differences"),
        (pd.to_timedelta([1, 2], unit="D"), "y: holds dates or time differences"),
        ([None, pd.Timestamp(0)][1:] * 2, "is not a number"),
    ],
)
def test_what_is_no_number_is_refused(y: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        [as_numbers(column) for column in target_columns(y)]


def test_columns_of_a_frame_keep_their_own_types():
    import polars

    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": pd.array([True, False], dtype="boolean")})
    for y in (frame, polars.from_pandas(frame)):
        assert [column.dtype.kind for column in target_columns(y)] == ["O", "i", "b"]


@pytest.mark.parametrize(
    ("answer", "low", "high", "expected"),
    [
        (597.7803, 537.259, 661.021, "predicted price: 597.8 (90% interval 537.3 to 661.0)"),
        (181_233.1, 92_000.4, 305_441.9, "predicted price: 181,233 (90% interval 92,000 to 305,442)"),
        (0.0123456, 0.0119, 0.0131, "predicted price: 0.012346 (90% interval 0.011900 to 0.013100)"),
        (3.5, 3.5, 3.5, "predicted price: 3.5 (90% interval 3.5 to 3.5)"),
        (1e-20, 0.0, 2e-20, "predicted price: 1e-20 (90% interval 0 to 2e-20)"),
    ],
)
def test_a_prediction_is_shown_with_significant_digits(answer: float, low: float, high: float, expected: str):
    found = TargetPredictions("price", np.array([answer]), ["q5", "q50", "q95"], np.array([[low, answer, high]]), False)
    assert sentence(found) == expected


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-38_063.4, "-38,060"), (352_520.0, "352,500"), (7.0762, "7.076"), (0.00012, "0.00012"), (2e-9, "2e-09"),
     (0, "0"), (9.99996, "10"), (1.5e15, "1.5e+15"), (np.nan, "nan")],
)  # fmt: skip
def test_numbers_for_people_are_plain(value: float, shown: str):
    assert plain_number(value) == shown


@pytest.mark.parametrize("spread", [0.5, 1.0, 1.5])
def test_the_mean_of_a_skewed_target_has_its_tails(spread: float):
    """Of a target that depends on nothing, the mean is that of all numbers, most of which the quantiles leave out."""
    numbers = torch.from_numpy(np.exp(spread * np.random.default_rng(0).normal(size=20_000)))
    transform = TargetTransform.quantile(numbers)
    quantiles = torch.special.ndtri(torch.arange(1, 34).double() / 34)[None]
    assert transform.mean(quantiles).item() == pytest.approx(numbers.mean().item(), rel=0.03)
    without_tails = transform.inverse(quantiles).mean().item()
    assert without_tails < (1 - 0.04 * spread) * numbers.mean()


@given(st.floats(-3, 3), st.floats(0.01, 2))
def test_the_mean_of_normal_scores_is_their_middle(middle: float, spread: float):
    transform = TargetTransform(torch.tensor([-2e4, 2e4]).double(), torch.tensor([-20.0, 20.0]).double())
    quantiles = middle + spread * torch.special.ndtri(torch.arange(1, 34).double() / 34)[None]
    assert transform.mean(quantiles).item() == pytest.approx(1000 * middle, abs=1e-6)
