"""Large tables: every predictor takes part, and is the same after saving and loading."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import regard
from regard.core.errors import UserError
from regard.tables import NPTClassifier, NPTRegressor, folds, large, modes


@pytest.fixture(autouse=True)
def _every_predictor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are fitted as large ones, and every predictor has a weight."""
    monkeypatch.setattr(modes, "LARGE", 0)
    for module in (folds, large):
        monkeypatch.setattr(module, "MIN_HELD_OUT", 4)
    monkeypatch.setattr(large, "best_weights", lambda predictions, _: [1 / len(predictions)] * len(predictions))


def mixed_table(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=rows), "c": rng.choice(["a", "b", "c"], rows), "n": rng.integers(9, size=rows)}
    )
    frame.loc[::9, "x"] = np.nan
    return frame


def fitted(classes: int, mode: str = "auto", time_limit: float = 0.6) -> NPTClassifier | NPTRegressor:
    frame = mixed_table(150)
    score = frame["x"].fillna(0) + (frame["c"] == "b")
    settings = {"mode": mode, "time_limit": time_limit, "members": 1, "random_state": 0}
    if classes:
        return NPTClassifier(**settings).fit(frame, pd.qcut(score, classes, labels=False))
    return NPTRegressor(**settings).fit(frame, score)


def outputs(estimator: NPTClassifier | NPTRegressor) -> np.ndarray:
    return np.asarray(estimator._predictions(mixed_table(20))[0])


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_all_predictors_are_saved_and_loaded(classes: int, tmp_path: Path):
    estimator = fitted(classes)
    kinds = [type(one).__name__ for one in estimator.predictors_[0].predictors]
    assert kinds == ["InContextPredictor", "BoostedTreesPredictor", "LearnedKeysPredictor"]
    estimator.save(tmp_path / "run")
    np.testing.assert_allclose(outputs(regard.load(tmp_path / "run")), outputs(estimator), rtol=1e-5, atol=1e-6)
    evidence = estimator.evidence(mixed_table(2), top=3)
    assert all(0 < each.rows["weight"].sum() <= 1 + 1e-6 for each in evidence)


def test_mode_attention_has_no_trees():
    kinds = [type(one).__name__ for one in fitted(2, "attention").predictors_[0].predictors]
    assert kinds == ["InContextPredictor", "LearnedKeysPredictor"]


def test_the_result_does_not_depend_on_rows_that_are_asked_together():
    estimator, frame = fitted(2), mixed_table(20)
    alone = np.concatenate([estimator.predict_proba(frame.iloc[[row]]) for row in range(3)])
    np.testing.assert_allclose(alone, estimator.predict_proba(frame)[:3], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("left", lambda x: x.clone().fill_(0), "a child must come after its node"),
        ("threshold", lambda x: x * float("nan"), "must be numbers, not NaN"),
        ("column", lambda x: x + 99, "must be from 0 to 2"),
        ("roots", lambda x: x + 10**6, "must be from 0 to"),
        ("first", lambda x: x.flip(0), "must ascend from 0"),
    ],
)
def test_damaged_trees_are_refused(name: str, change, message: str, tmp_path: Path):
    from regard.core import tensors
    from regard.store import WEIGHTS

    fitted(2).save(tmp_path / "run")
    stored = tensors.load(tmp_path / "run" / WEIGHTS)
    stored[f"0.1.{name}"] = change(stored[f"0.1.{name}"])
    tensors.save(tmp_path / "run" / WEIGHTS, stored)
    with pytest.raises(UserError, match=message):
        regard.load(tmp_path / "run")
