"""Leaving a training row out: predictions are those of an estimator that never had it, and it is no evidence."""

import numpy as np
import pandas as pd
import pytest

from regard.tables import NPTClassifier, NPTRegressor
from regard.tables.leave_out import leave_out


def rows(count: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"id": [f"R{n}" for n in range(count)], "a": rng.normal(size=count), "b": rng.normal(size=count)}
    )


def test_it_is_as_if_the_row_had_not_been_there():
    frame = rows()
    target = frame["a"] + frame["b"] > 0
    model = NPTClassifier(mode="in_context", random_state=0, kinds={"id": "ignore"})
    less = leave_out(model.fit(frame, target), 7)
    probabilities, [evidence] = less.predict_proba(frame), less.evidence(frame.iloc[[7]], top=60)
    assert 7 not in evidence.rows.index
    assert evidence.own_row is None
    assert evidence.rows["id"].tolist() == [f"R{row}" for row in evidence.rows.index]
    assert len(model.rows_) == 60  # the estimator itself is as it was
    never = model.fit(frame.drop(index=7), target.drop(index=7)).predict_proba(frame)
    np.testing.assert_allclose(probabilities, never, atol=1e-6)
    assert leave_out(model, 1000) is model


@pytest.mark.parametrize("mode", ["scratch", "auto"])
def test_trained_predictors_attend_to_the_rest(mode: str):
    frame = rows(80)
    model = NPTRegressor(mode=mode, time_limit=1, random_state=0).fit(frame[["a", "b"]], frame["a"])
    less = leave_out(model, 3)
    [evidence] = less.evidence(frame[["a", "b"]].iloc[[3]], top=80)
    assert len(evidence.rows) == 79
    assert 3 not in evidence.rows.index
    assert evidence.rows["target"].tolist() == pytest.approx(frame.loc[evidence.rows.index, "a"].tolist(), rel=1e-6)
    assert less.predictors_[0].row_weights(less.tables_[0].values[:2]).shape == (2, 79)
