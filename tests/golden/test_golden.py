"""The first steps of every recipe, and predictions of the shipped table weights: equal to what they were.

Five steps and the validation loss after them are recorded; of recipes with slow steps, the first two or three are run.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from regard.core.config import override
from regard.data.text.dates import Dates
from regard.models import InContext
from regard.store import read_metrics
from regard.tables import NPTClassifier, NPTImputer, NPTRegressor
from regard.tables.predictor import interpolate_quantiles
from regard.tables.prior import Prior
from regard.tasks.classify.recipe import classifier
from regard.tasks.fill.recipe import masked_lm
from regard.tasks.image.recipe import image_classifier
from regard.tasks.lm.recipe import language_model
from regard.tasks.plan import Plan
from regard.tasks.pretrain_tables.recipe import in_context_tables
from regard.tasks.pretrained import finetuned
from regard.tasks.summarise.recipe import summariser
from regard.tasks.table.recipe import table_npt
from regard.tasks.training import train
from regard.tasks.translate.recipe import dates, translator
from regard.train import Loop
from tests.golden import inputs

HERE = Path(__file__).parent
LOSSES, TABLES = (json.loads((HERE / name).read_text()) for name in ("losses.json", "tables.json"))
TOLERANCE = 1e-3  # processors with other instructions round otherwise, and five steps of Muon amplify it
FEWER_STEPS = {"pretrain_tables": 2, "lm": 3, "image": 3}


class Enough(BaseException):
    """As many steps were taken as are compared."""


def plan_of(name: str, root: Path) -> Plan:
    train_files, valid = (str(inputs.pairs(root, "train", 600, 2)),), (str(inputs.pairs(root, "valid", 60, 3)),)
    corpus, labelled = (str(inputs.corpus(root)),), (str(inputs.labelled(root)),)
    if name == "classify_finetuned":
        train(shortened(masked_lm(corpus)), root / "fill", scored=False)
    plans: dict[str, Callable[[], Plan]] = {
        "dates": lambda: replace(dates(), data=Dates(train=2000, valid=50, test=20)),
        "translate": lambda: translator(train_files, valid),
        "translate_rnn_attention": lambda: translator(train_files, valid, "rnn-attention"),
        "translate_rnn": lambda: translator(train_files, valid, "rnn"),
        "summarise": lambda: summariser(train_files, valid),
        "lm": lambda: language_model(corpus),
        "classify": lambda: classifier(labelled, ()),
        "classify_finetuned": lambda: finetuned(classifier(labelled, ()), root / "fill"),
        "image": lambda: image_classifier((str(inputs.images(root)),), ()),
        "table": lambda: table_npt(str(inputs.table(root)), "price"),
        "pretrain_tables": lambda: replace(
            in_context_tables(), data=Prior(flat_rules=0.0, many_levels=0.0), model=InContext()
        ),
    }
    plan = plans[name]()
    # Without the n-gram model, which would make the losses small whatever the network does.
    return override(plan, {"task.ngrams": None}) if name.startswith("classify") else plan


def shortened(plan: Plan) -> Plan:
    """Five steps, in the precision that every machine has."""
    training = replace(
        plan.training,
        steps=5,
        epochs=None,
        minutes=None,
        log_every=1,
        eval_every=5,
        precision="float32",
        compile="never",
    )
    return replace(plan, training=training)


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - {"fill"}))  # which is fine-tuned as a classifier
def test_first_steps(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.tasks.pretrain_tables.task.VALIDATION_GROUPS", 2)
    plan, steps = shortened(plan_of(name, tmp_path)), FEWER_STEPS.get(name)
    if steps is None:
        train(plan, tmp_path / "run", scored=False)
    else:  # the schedule is that of five steps, so the run is interrupted
        stop_after(steps, monkeypatch)
        with pytest.raises(Enough):
            train(plan, tmp_path / "run", scored=False)
    assert steps_of(tmp_path / "run") == pytest.approx(LOSSES[name][:steps], rel=TOLERANCE, abs=TOLERANCE)
    if name == "classify_finetuned":
        assert steps_of(tmp_path / "fill") == pytest.approx(LOSSES["fill"], rel=TOLERANCE, abs=TOLERANCE)


def stop_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Loop._step

    def step(loop: Loop, *args: Any) -> Any:
        if loop.progress.step == steps:
            raise Enough
        return original(loop, *args)

    monkeypatch.setattr(Loop, "_step", step)


def steps_of(run: Path) -> list[float]:
    """The loss of each step, and the validation loss after the last."""
    lines = read_metrics(run)
    return [
        *(line["loss"] for line in lines if "lr_multiplier" in line),
        *(line["valid"] for line in lines if "valid" in line),
    ]


def some_rows(table: pd.DataFrame, target: pd.Series, known: int) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    order = np.random.RandomState(0).permutation(len(table))
    table, target = table.iloc[order], target.iloc[order]
    return table[:known], target[:known], table[known : known + 8]


def same(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(result, dtype=float), np.asarray(expected), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("name", "known"),
    [("breast_cancer", 300), ("wine", 120), ("digits", 400)],
)
def test_probabilities(name: str, known: int) -> None:
    table, target, query = some_rows(*getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True), known)
    model = NPTClassifier(mode="in_context", random_state=0).fit(table, target)
    same(model.predict_proba(query), TABLES[name]["probabilities"])
    if name == "wine":
        evidence = model.evidence(query.iloc[:1], 5)[0]
        assert list(evidence.rows.index) == TABLES[name]["evidence_rows"]
        same(evidence.rows.iloc[:, 0], TABLES[name]["evidence_weights"])


def test_numbers() -> None:
    table, target, query = some_rows(*datasets.load_diabetes(return_X_y=True, as_frame=True), 300)
    model = NPTRegressor(mode="in_context", random_state=0).fit(table, target)
    same(model.predict(query), TABLES["diabetes"]["mean"])
    (network,) = model.predictors_[0].predictors  # not calibrated, as these were recorded
    levels = [0.05, 0.5, 0.95]
    same(interpolate_quantiles(network.predict(model._encode(query)), levels), TABLES["diabetes"]["quantiles"])


@pytest.mark.parametrize("rows", [300, 4000])
def test_mixed_columns(rows: int, tmp_path: Path) -> None:
    frame = pd.read_csv(inputs.table(tmp_path, rows))
    table, target, query = some_rows(frame, frame.pop("price"), rows - 8)
    model = NPTRegressor(mode="in_context", random_state=0).fit(table, target)
    same(model.predict(query), TABLES[f"houses_{rows}"]["mean"])


def test_imputed_cells(tmp_path: Path) -> None:
    frame = pd.read_csv(inputs.table(tmp_path, 300))
    imputer = NPTImputer(random_state=0)
    same(imputer.fit_transform(frame).loc[frame["age"].isna(), "age"], TABLES["imputer"]["age"])
