"""A fitted table as an ONNX graph: predictions without the training rows, equal to those of the estimator."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from regard.core.errors import ConfigError
from regard.export import ONNX, export
from regard.export.graphs.table import check_exportable, table_graph
from regard.tables import NPTClassifier, NPTRegressor
from tests.tables.conftest import write_tiny_reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_reader(tmp_path_factory.mktemp("weights"))


def houses(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(90, 30, rows),
            "town": rng.choice(["Rome", "Oslo", "Lima"], rows),
            "sold": pd.Timestamp("2024-02-27 06:00") + pd.to_timedelta(rng.integers(0, 900, rows), unit="h"),
            "garden": rng.choice([True, False], rows),
        }
    )
    frame.loc[3, "size"] = np.nan
    return frame


def as_text(frame: pd.DataFrame) -> list[dict[str, str]]:
    """Rows as a CSV file has them."""
    return [
        {name: "" if pd.isna(cell) else str(cell) for name, cell in row.items()} for row in frame.to_dict("records")
    ]


def test_predictions_without_the_rows(reader, tmp_path):
    table, new = houses(), houses(70)[60:].assign(town=["Rome", "Paris"] * 5)  # one is new
    price = (2 * table["size"].fillna(90) + 50 * (table["town"] == "Rome")).rename("price")
    estimator = NPTRegressor(mode="in_context", members=2, random_state=0, weights=reader).fit(table, price)
    export(estimator, ONNX(), tmp_path / "onnx")
    script = runpy.run_path(str(tmp_path / "onnx" / "predict.py"))
    [predicted] = script["predict"](as_text(new))
    levels = script["SETTINGS"]["targets"][0]["levels"]
    assert np.abs(predicted[:, 0] - estimator.predict(new)).max() < 1e-4 * price.std()
    assert np.abs(predicted[:, 1:] - estimator.predict(new, quantiles=levels)).max() < 1e-4 * price.std()
    assert [row["price"] for row in script["answers"](as_text(new))] == predicted[:, 0].tolist()
    stored = (tmp_path / "onnx" / "model.onnx").read_bytes()
    for row in estimator.tables_[0].values.numpy():
        assert row.tobytes() not in stored
    settings = json.loads((tmp_path / "onnx" / "regard.json").read_text())
    assert [column["name"] for column in settings["columns"]] == list(table)


@pytest.mark.parametrize("several", [False, True], ids=["one target", "two targets"])
def test_the_graph_of_classes_is_the_estimator(several, reader):
    """Members that are read in one pass give what each gives by itself; probabilities sum to one."""
    table, new = houses(), houses(70)[60:].assign(town=["Rome", "Paris"] * 5)
    target = pd.cut(table["size"].fillna(90), 3, labels=["low", "mid", "high"]).astype(str)
    targets = pd.DataFrame({"size": target, "garden": table["garden"]}) if several else target
    estimator = NPTClassifier(mode="in_context", members=2, random_state=0, weights=reader).fit(table, targets)
    graph = table_graph(estimator)
    with torch.no_grad():
        outputs = graph.module(torch.from_numpy(estimator.columns_.encode(new).values))
    probabilities = estimator.predict_proba(new) if several else [estimator.predict_proba(new)]
    assert len(outputs) == len(graph.outputs) == len(probabilities)
    for ours, theirs in zip(outputs, probabilities, strict=True):
        assert np.abs(ours.numpy() - theirs).max() < 1e-5


def test_categories_that_differ_in_their_spelling_only_have_codes_of_their_own(reader, tmp_path):
    """A postcode with a leading zero is another one; what is spelled as neither is read as a number."""
    codes = pd.DataFrame({"postcode": ["01067", "1067", "2000", "01067", "1067"] * 8})
    estimator = NPTRegressor(mode="in_context", members=1, random_state=0, weights=reader).fit(codes, range(40))
    export(estimator, ONNX(), tmp_path / "onnx")
    script = runpy.run_path(str(tmp_path / "onnx" / "predict.py"))
    [column] = script["SETTINGS"]["columns"]
    [read] = script["numbers"](column, ["01067", "1067", "1067.0", "2000.0", "3"])
    assert column["categories"] == ["01067", "1067", "2000"]
    assert read.tolist() == [0, 1, 1, 2, 3]
    assert read[:2].tolist() == estimator.columns_.encode(codes[:2]).values[:, 0].tolist()


def test_what_has_no_graph_is_named(reader):
    quick = {"mode": "in_context", "members": 1, "random_state": 0, "weights": reader}
    texts = pd.DataFrame({"note": [f"a long note on number {number}, never the same" for number in range(40)]})
    with pytest.raises(ConfigError, match="column 'note'"):
        check_exportable(NPTRegressor(**quick).fit(texts, range(40)))
    scratch = NPTRegressor(mode="scratch", time_limit=0.01, random_state=0).fit([[1.0], [2.0]] * 5, [0.0, 1.0] * 5)
    with pytest.raises(ConfigError, match="--mode in_context"):
        check_exportable(scratch)
