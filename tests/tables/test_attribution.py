"""Shapley values against every order of the columns, and on tables whose answer is known."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import torch

from regard.tables import NPTClassifier, attribution
from regard.tables.attribution import shapley_values
from regard.tables.encode.table import EncodedTable
from tests.tables.conftest import REAL

COLUMNS = [[0], [1, 2], [3]]  # the second is a text or another column of several cells


@dataclass
class Formula:
    """A predictor that needs no training."""

    of: Callable[[torch.Tensor], torch.Tensor]
    attends_to_labels: bool = False

    def predict(self, values: torch.Tensor) -> torch.Tensor:
        score = self.of(values.nan_to_num(3.0)).double()
        return torch.stack([score, score + 1], 1)

    def row_weights(self, values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


def table_of(rows: int, classes: int = 0) -> EncodedTable:
    target = torch.arange(float(rows)).double() % classes if classes else torch.randn(rows).double()
    return EncodedTable(torch.randn(rows, 4), torch.zeros(4, dtype=torch.bool), target, classes)


def by_all_orders(predict: Callable[[torch.Tensor], torch.Tensor], row: torch.Tensor, background: torch.Tensor):
    total = torch.zeros(len(COLUMNS), dtype=torch.double)
    orders = list(permutations(range(len(COLUMNS))))
    for start in background:
        for order in orders:
            cells = start.clone()
            for column in order:
                before = predict(cells[None])[0, 0]
                cells[COLUMNS[column]] = row[COLUMNS[column]]
                total[column] += predict(cells[None])[0, 0] - before
    return total / (len(orders) * len(background))


def test_effects_are_those_of_all_orders(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attribution, "MAX_ORDERS", 4000)
    monkeypatch.setattr(attribution, "PREDICTIONS", 1_000_000)
    predictor, table = Formula(lambda x: x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] * x[:, 0]), table_of(8)
    row = torch.randn(1, 4)
    found = shapley_values(predictor, row, COLUMNS, table, seed=0)
    expected = by_all_orders(predictor.predict, row[0], table.values)
    assert ((found.effects[0] - expected).abs() < 4 * found.errors[0] + 1e-9).all()
    assert (found.errors < 0.1).all()


@pytest.mark.parametrize("classes", [0, 2])
def test_effects_sum_to_the_prediction_less_that_of_the_background(classes: int):
    predictor, table = Formula(lambda x: (x[:, 0] * x[:, 1]).sin() + x[:, 3]), table_of(40, classes)
    values = torch.randn(5, 4)
    found = shapley_values(predictor, values, COLUMNS, table, seed=1)
    predicted = predictor.predict(values)
    explained = predicted.amax(1) if classes else predicted[:, 0]
    torch.testing.assert_close(found.base + found.effects.sum(1), explained, rtol=0, atol=1e-9)


def test_effects_of_a_sum_are_exact_whatever_the_orders():
    predictor, table = Formula(lambda x: 2 * x[:, 0] - x[:, 3]), table_of(30)
    found = shapley_values(predictor, torch.tensor([[1.0, 5.0, 5.0, torch.nan]]), COLUMNS, table, seed=0)
    assert found.effects[0, 1] == 0
    # The empty cell counts like any other: it is read as 3.
    base = found.base[0]
    assert found.effects[0].sum() == pytest.approx(float(2 * 1.0 - 3.0 - base), abs=1e-9)
    assert found.errors[0, 1] == 0


def test_many_rows_take_few_orders_each(monkeypatch: pytest.MonkeyPatch):
    calls: list[int] = []
    predictor = Formula(lambda x: x[:, 0])
    monkeypatch.setattr(
        Formula, "predict", lambda self, values: calls.append(len(values)) or torch.zeros(len(values), 2)
    )
    monkeypatch.setattr(attribution, "MAX_PREDICTIONS", 3200)
    shapley_values(predictor, torch.randn(100, 4), COLUMNS, table_of(50), seed=0)
    assert calls == [2 * attribution.MIN_ORDERS * 4] * 100


@pytest.mark.parametrize(
    ("change", "error"), [(lambda x: x[:, 0], 0.03), (lambda x: x[:, 0].square(), 0.15), (lambda x: x[:, 3], 0.02)]
)
def test_few_background_rows_stand_for_all(monkeypatch: pytest.MonkeyPatch, change, error):
    """The mean of replaced cells is nearly that of the table, missing ones too. A plain mean of 32 is 0.2 off."""
    monkeypatch.setattr(attribution, "MAX_ORDERS", 32)
    predictor, table, row = Formula(change), table_of(1000), torch.zeros(1, 4)
    table.values[:, 3] = table.values[:, 3].round()
    table.values[::5, 3] = torch.nan
    errors = []
    for seed in range(20):
        found = shapley_values(predictor, row, COLUMNS, table, seed)
        wanted = -change(table.values.nan_to_num(3.0)).double().mean()
        errors.append((found.effects[0].sum() - wanted).abs().item())
        assert errors[-1] < 5 * found.errors[0].norm() + 0.02
    assert np.mean(errors) < error


def test_what_interacting_columns_replace_is_fitted_too():
    """The halves of a product of two large cells: a plain mean over the background rows is 0.6 off."""
    predictor, table = Formula(lambda x: 2 * x[:, 0] * x[:, 3]), table_of(1000)
    row, first, last = torch.tensor([[6.0, 0.0, 0.0, -6.0]]), *table.values[:, [0, 3]].double().T
    both = (first * last).mean()
    wanted = [-36 + 6 * first.mean() + 6 * last.mean() - both, -36 - 6 * last.mean() - 6 * first.mean() - both]
    for seed in range(5):
        found = shapley_values(predictor, row, COLUMNS, table, seed).effects[0, [0, 2]].tolist()
        assert found == pytest.approx([float(one) for one in wanted], abs=0.4)


@pytest.mark.parametrize("orders", [1, 4, 12, 60])
@pytest.mark.parametrize("cells", ["normal", "drawn alike", "mostly missing"])
def test_the_fit_is_a_ridge_regression_on_the_spline_and_all_lines(cells: str, orders: int):
    """Against one solve for all coefficients."""
    values, columns = torch.randn(200, 9), [[place] for place in range(9)]
    drawn = torch.randperm(200)[:orders]
    if cells == "drawn alike":  # the slope of a spline is then known from nothing
        values[drawn, 0] = 0.5
    if cells == "mostly missing":
        values[torch.rand(200, 9) < 0.9] = torch.nan
    found = attribution._fit(values, drawn, columns)
    lines = attribution._lines(values.double())
    for number in range(9):
        knots = min(attribution.MAX_KNOTS, orders // attribution.ORDERS_A_KNOT)
        spline, bends = attribution._linear_spline(values[:, number].double(), knots)
        basis = torch.cat([spline, lines.masked_fill(torch.arange(9) == number, 0)], 1)
        penalty = torch.block_diag(attribution.SMOOTHING * bends.T @ bends, 9 * torch.eye(9).double())
        inverse = torch.linalg.pinv(basis[drawn].T @ basis[drawn] + penalty, hermitian=True)
        expected = basis[drawn] @ inverse @ basis.mean(0)
        torch.testing.assert_close(found.weight[:, number], expected, rtol=1e-8, atol=1e-9)
        rest = torch.eye(orders).double() - basis[drawn] @ inverse @ basis[drawn].T
        torch.testing.assert_close(found.residual[number], rest, rtol=1e-8, atol=1e-9)


def test_a_thousand_columns_take_no_longer_than_their_sorting():
    values = torch.randn(200, 1000)
    began = time.process_time()
    attribution._fit(values, torch.arange(4), [[place] for place in range(1000)])
    assert time.process_time() - began < 5  # one solve of all lines for each column takes minutes


@pytest.mark.parametrize("cells", ["normal", "heavy", "levels", "constant", "missing", "mostly missing"])
@pytest.mark.parametrize("orders", [1, 4, 50])
def test_weights_of_orders_sum_to_one(cells: str, orders: int):
    column = {
        "normal": torch.randn(300),
        "heavy": torch.randn(300).exp() ** 8,
        "levels": torch.randint(3, (300,)).float(),
        "constant": torch.ones(300),
        "missing": torch.full((300,), torch.nan),
        "mostly missing": torch.where(torch.rand(300) < 0.95, torch.nan, 1e6),
    }[cells]
    fit = attribution._fit(column[:, None], torch.randperm(300)[:orders], [[0]])
    assert fit.weight.sum().item() == pytest.approx(1)
    assert fit.weight.abs().max() <= 1.5
    assert fit.standard_errors(torch.randn(orders, 1).double()).isfinite().all()


def test_a_decisive_empty_cell_has_the_largest_effect():
    """A column that is filled only if the answer is yes."""
    rng = np.random.default_rng(0)
    target = np.array(["no", "yes"])[rng.integers(2, size=200)]
    frame = pd.DataFrame({"x": rng.normal(size=200), "paid": np.where(target == "yes", rng.normal(size=200), np.nan)})
    model = NPTClassifier(mode="in_context", members=2, random_state=0, weights=REAL).fit(frame[:150], target[:150])
    empty = frame[150:][target[150:] == "no"].head(3)
    for evidence in model.evidence(empty):
        assert evidence.prediction == "no"
        assert evidence.columns.index[0] == "paid"
        assert evidence.columns["effect"].iloc[0] > 0.3
        assert evidence.is_probability
        assert evidence.own_row is None


def test_a_known_row_is_no_evidence_for_itself():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame.loc[3, "b"] = np.nan
    model = NPTClassifier(mode="in_context", members=1, random_state=0).fit(frame, (frame["a"] > 0).astype(str))
    for row in (0, 3):
        (evidence,) = model.evidence(frame.iloc[[row]], top=80)
        assert evidence.own_row == row
        assert evidence.rows["weight"].get(row, 0.0) == 0
        assert evidence.rows["weight"].sum() == pytest.approx(1, abs=1e-5)
    twins = pd.concat([frame, frame.iloc[[5]]], ignore_index=True)
    model = NPTClassifier(mode="in_context", members=1, random_state=0).fit(twins, (twins["a"] > 0).astype(str))
    assert model.evidence(twins.iloc[[5]])[0].own_row is None  # the other one is evidence
