"""What training logs, for TensorBoard and for a callback; read back with TensorBoard's own reader."""

from pathlib import Path
from typing import Any

import pytest

from regard.store import read_metrics
from regard.tasks.training import train
from regard.train import TensorBoard
from tests.command import regard
from tests.train.tiny import tiny_plan

SMALL = ("--model.layers", "1", "--model.width", "16", "--model.heads", "2", "--training.log-every", "1")


def events(folder: Path) -> Any:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    return reader.EventAccumulator(str(folder)).Reload()


def scalars(folder: Path, name: str) -> dict[int, float]:
    return {event.step: event.value for event in events(folder).Scalars(name)}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "t.txt").write_text("the cat sat on the mat. " * 100)
    return tmp_path / "t.txt"


def test_event_files_hold_the_metrics(tmp_path: Path, text: Path) -> None:
    out = tmp_path / "run"
    assert regard("train", "lm", "--data", text, "--out", out, "--steps", "3", "--log", "tensorboard", *SMALL) == 0
    written = out / "tensorboard"
    logged = read_metrics(out)
    assert scalars(written, "loss") == pytest.approx({line["step"]: line["loss"] for line in logged[:3]})
    assert scalars(written, "valid") == pytest.approx({3: logged[3]["valid"]})
    assert scalars(written, "final/perplexity") == pytest.approx({3: logged[-1]["perplexity"]})
    assert "sample/text_summary" in events(written).Tags()["tensors"]

    # A folder with event files is still a run's, which can be replaced; those of the run before are gone.
    command = ("train", "lm", "--data", text, "--out", out, "--overwrite", "--log", "tensorboard", *SMALL)
    assert regard(*command, "--steps", "2") == 0
    assert set(scalars(written, "loss")) == {1, 2}


def test_a_resumed_run_hides_what_was_logged_after_its_checkpoint(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as log:
        for step in (1, 2, 3):
            log({"step": step, "loss": 1.0, "lr_multiplier": 1.0})
    with TensorBoard(tmp_path) as log:
        log({"step": 3, "loss": 0.5, "lr_multiplier": 1.0})
    assert scalars(tmp_path, "loss") == {1: 1.0, 2: 1.0, 3: 0.5}


def test_a_callback_hears_every_line_and_can_end_the_training(tmp_path: Path) -> None:
    plan = tiny_plan(steps=4, log_every=1)
    heard: list[dict[str, Any]] = []
    train(plan, tmp_path / "run", callbacks=[lambda line: heard.append(dict(line))])
    assert heard == read_metrics(tmp_path / "run")

    def stop(line: Any) -> None:
        if line["step"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(plan, tmp_path / "ended", callbacks=[stop])
    assert [line["step"] for line in read_metrics(tmp_path / "ended")] == [1, 2]


def test_nothing_is_written_where_nothing_is_logged(tmp_path: Path) -> None:
    with TensorBoard(tmp_path / "events"):
        pass
    assert not (tmp_path / "events").exists()


def test_what_is_not_finite_is_left_out(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as log:
        log({"step": 1, "loss": float("nan"), "lr_multiplier": 1.0, "valid": None})
    assert events(tmp_path).Tags()["scalars"] == ["lr_multiplier"]


def test_an_unknown_logger_is_named(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert regard("train", "lm", "--data", text, "--out", tmp_path / "run", "--log", "wandb") == 2
    assert "wandb" in capsys.readouterr().err
