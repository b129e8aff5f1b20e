"""Small tables: folds of fine-tuned networks and learned keys, weighted by rows that were held out of them."""

from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.tables import NPTClassifier, NPTRegressor, modes, small
from regard.tables.encode.table import EncodedTable
from regard.tables.ensemble import Ensemble
from regard.tables.network.pretrained import pretrained_model
from regard.train import DivergedError, Progress
from tests.tables.test_large import fitted, outputs


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, there is time for three folds; every predictor has a weight."""
    monkeypatch.setattr(small, "_seconds_per_pass", lambda *_: 1e-3)
    monkeypatch.setattr("regard.tables.network.learned_keys.MAX_STEPS", 3)
    monkeypatch.setattr("regard.tables.finetune.MAX_STEPS", 2)
    monkeypatch.setattr(small, "MAX_FOLDS", small.FOLDS)
    monkeypatch.setattr(small, "best_weights", lambda predictions, _: [1 / len(predictions)] * len(predictions))


def kinds(estimator: NPTClassifier | NPTRegressor) -> list[str]:
    return [type(one).__name__.removesuffix("Predictor") for one in estimator.predictors_[0].predictors]


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_all_predictors_are_saved_and_loaded(classes: int, tmp_path: Path):
    estimator = fitted(classes, time_limit=600.0)
    assert kinds(estimator) == ["InContext"] + 3 * ["LearnedKeys"] + 3 * ["InContext"]
    np.testing.assert_allclose(estimator.predictors_[0].weights, [1 / 3] + 6 * [1 / 9])
    estimator.save(tmp_path / "run")
    np.testing.assert_allclose(outputs(regard.load(tmp_path / "run")), outputs(estimator), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    ("diverges", "rest"),
    [("finetune", ["InContext", *3 * ["LearnedKeys"]]), ("train_learned_keys", 4 * ["InContext"])],
)
def test_what_diverges_is_left_out(diverges: str, rest: list[str], monkeypatch: pytest.MonkeyPatch):
    def diverged(*_: object) -> None:
        raise DivergedError("not finite", Progress())

    monkeypatch.setattr(small, diverges, diverged)
    assert kinds(fitted(2, time_limit=600.0)) == rest


def test_held_out_rows_choose_what_is_better():
    rows = torch.arange(200)
    table = EncodedTable(rows[:, None].float(), torch.tensor([False]), (rows % 2).double(), 2)
    right = torch.nn.functional.one_hot(table.target.long()).double()
    network, keys = Ensemble([], []), Ensemble([], [])
    fold = small.Fold(
        table,
        {
            "in_context": small.Candidate(torch.full((200, 2), 0.5), lambda _: network),
            "learned_keys": small.Candidate(0.98 * right + 0.01, lambda _: keys),
        },
    )
    ensemble = small._ensemble([fold], 8, table)
    assert [each is keys for each in ensemble.predictors] == [True]
    assert ensemble.weights == [1.0]


def test_without_time_the_network_predicts_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(small, "_seconds_per_pass", lambda *_: 1e3)
    assert kinds(fitted(2)) == ["InContext"]
    few = EncodedTable(torch.randn(40, 2), torch.tensor([False, False]), torch.arange(40.0).double() % 2, 2)
    assert len(modes.auto(pretrained_model(None), few, 2, 0, 60.0).predictors) == 1
