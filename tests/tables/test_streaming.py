"""Large files: predicted in chunks, resumed after an interruption, whole or absent."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from regard.core.errors import UserError
from regard.data.tables import chunks
from regard.data.tables.files import read_table, table_chunks
from regard.tables import NPTClassifier, streaming
from regard.tables.threads import side_by_side
from tests.command import regard as command

ROWS = 700


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    frame = some_rows(40, 1)
    model = NPTClassifier(mode="in_context", members=1, random_state=0)
    model.fit(frame.drop(columns="id"), np.where(frame["a"] > 0, "up", "down")).save(folder)
    return folder


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as large: some twelve chunks."""
    monkeypatch.setattr(chunks, "LARGE", 1000)
    monkeypatch.setattr(chunks, "BYTES", 2000)
    monkeypatch.setattr(chunks, "ROWS", 60)
    some_rows(ROWS, 2).to_csv(tmp_path / "large.csv", index=False)
    return tmp_path / "large.csv"


def some_rows(count: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    notes = [f'{number} "quoted",\nin two lines' if number % 5 == 0 else "plain" for number in range(count)]
    return pd.DataFrame({
        "id": [f"{number:04d}" for number in range(count)],
        "a": random.normal(size=count).round(3),
        "b": random.integers(0, 9, count),
        "c": random.choice(["x", "y"], count),
        "note": notes,
    })  # fmt: skip


@pytest.mark.parametrize("name", ["found.csv", "found.tsv.gz", "found.parquet"])
def test_chunks_are_predicted_like_the_whole_file(run: Path, large: Path, tmp_path: Path, name: str, monkeypatch):
    assert len(list(table_chunks(large))) > 5
    assert command("predict", run, large, "--out", tmp_path / name, "--keep", "id") == 0
    monkeypatch.undo()
    assert command("predict", run, large, "--out", tmp_path / "whole" / name, "--keep", "id") == 0
    parts, whole = read_table(tmp_path / name), read_table(tmp_path / "whole" / name)
    pd.testing.assert_frame_equal(parts, whole)
    assert list(parts["id"]) == [f"{number:04d}" for number in range(ROWS)], "identifiers stay as they are"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_chunks_are_the_rows_of_the_file(large: Path, tmp_path: Path):
    joined = pd.concat([chunk.frame() for chunk in table_chunks(large)], ignore_index=True)
    pd.testing.assert_frame_equal(joined, read_table(large))
    joined.to_parquet(tmp_path / "large.parquet")
    batches = [chunk.frame() for chunk in table_chunks(tmp_path / "large.parquet")]
    assert max(map(len, batches)) == 60
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), read_table(tmp_path / "large.parquet"))
    together = list(table_chunks(large, whole=True))
    pd.testing.assert_frame_equal(pd.concat([one.frame() for one in together], ignore_index=True), read_table(large))


def test_an_interrupted_run_goes_on(
    run: Path, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    assert command("predict", run, large, "--out", tmp_path / "expected.csv") == 0
    stop_after(3, monkeypatch)
    assert command("predict", run, large, "--out", tmp_path / "found.csv") == 130
    assert "the same command resumes there" in capsys.readouterr().err
    assert not (tmp_path / "found.csv").exists()
    counted = stop_after(100, monkeypatch)
    assert command("predict", run, large, "--out", tmp_path / "found.csv") == 0
    assert "going on after" in capsys.readouterr().err
    assert len(counted) == len(list(table_chunks(large))) - 3
    assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_another_table_is_begun_anew(
    run: Path, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    stop_after(3, monkeypatch)
    assert command("predict", run, large, "--out", tmp_path / "found.csv") == 130
    some_rows(ROWS, 3).to_csv(large, index=False)
    stop_after(100, monkeypatch)
    assert command("predict", run, large, "--out", tmp_path / "found.csv") == 0
    assert "is begun anew" in capsys.readouterr().err
    assert len(read_table(tmp_path / "found.csv")) == ROWS


def stop_after(count: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Interrupt the prediction of the chunk after so many."""
    predicted: list[int] = []
    predict = streaming.FilePredictions.__dict__["_predict"]
    predict = getattr(predict, "original", predict)

    def counted(self: streaming.FilePredictions, *arguments: object) -> pd.DataFrame:
        if len(predicted) == count:
            raise KeyboardInterrupt
        predicted.append(0)
        return predict(self, *arguments)

    counted.original = predict  # type: ignore[attr-defined]
    monkeypatch.setattr(streaming.FilePredictions, "_predict", counted)
    return predicted


def test_a_wrong_cell_is_named_by_its_row_in_the_file(
    run: Path, large: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    frame = some_rows(ROWS, 2).astype({"a": object})
    frame.loc[650, "a"] = "wrong"
    frame.to_csv(large, index=False)
    assert command("predict", run, large, "--out", tmp_path / "found.csv") == 2
    error = capsys.readouterr().err
    assert f"{large}: column 'a', row 650 (counted from 0): 'wrong' is not a number" in error
    assert not (tmp_path / "found.csv").exists()


def test_a_short_row_is_named_by_its_line_in_the_file(large: Path):
    lines = [f"{number},{number % 7},x" for number in range(400)]
    lines[300] = "1,2"
    large.write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(UserError, match="line 302: has 2 fields, the header 3"):
        [chunk.frame() for chunk in table_chunks(large)]


def test_standard_output_gets_the_chunks_in_turn(run: Path, large: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert command("predict", run, large) == 0
    text = capsys.readouterr().out
    assert command("predict", run, large, "--out", tmp_path / "found.csv") == 0
    assert text == (tmp_path / "found.csv").read_text()


def test_jobs_side_by_side_keep_their_order_and_leave_the_threads_as_they_were():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert side_by_side([lambda number=number: (number, torch.get_num_threads()) for number in range(20)]) == [
            (number, 1) for number in range(20)
        ]
        assert torch.get_num_threads() == 3

        def failing() -> Iterator[None]:
            raise ValueError("a fault")

        with pytest.raises(ValueError, match="a fault"):
            side_by_side([failing, failing])
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


# Each takes between a tenth of a second and several. torch._dynamo is the compiler, which sympy comes with.
NOT_NEEDED = (
    "torch._dynamo", "torch._inductor", "torch.nn.attention.flex_attention", "sympy", "scipy.stats", "sklearn.ensemble",
    "sklearn.model_selection", "matplotlib", "tokenizers", "transformers", "datasets", "IPython",
    "fastapi", "cyclopts", "onnx", "duckdb", "catboost", "torch.distributed.fsdp", "torch.utils.tensorboard",
)  # fmt: skip


def test_estimators_are_imported_without_what_they_do_not_use():
    code = f"""
import sys, gc, regard.tables
print("torch" in sys.modules)
from regard.tables import *
print([name for name in {NOT_NEEDED} if name in sys.modules], gc.isenabled())
import scipy
print(scipy.stats.mode([1, 1, 2]).mode)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "[]", "True", "1"]
