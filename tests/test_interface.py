"""How the library is met from outside: its names, what is recorded of a script, and where its messages go."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
import yaml

import regard as library
from regard.core.errors import UserError
from regard.data.text.dates import Dates
from regard.store import read_config
from regard.tasks import load_run
from regard.tasks.base import Workspace
from regard.train import Loop, MemoryKeeper, join_ranks
from tests.command import regard
from tests.train.tiny import tiny_plan, train_tiny

DATES = ["--training.batch_size=8", "--data.train=40", "--data.valid=8", "--data.test=4", "--model.width=16"]


def test_what_the_package_offers_is_listed():
    assert {"Plan", "evaluate", "listen", "load", "train"} <= set(dir(library))
    for name in library.__all__:
        assert getattr(library, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        library.lode  # noqa: B018


def test_train_is_a_package_that_can_be_called_and_knows_no_task():
    assert import_module("regard.train") is library.train
    assert library.train.Loop is Loop
    with pytest.raises(TypeError, match="'plan' and 'out'"):
        library.train()
    folder = Path(library.train.__file__).parent
    assert [file.name for file in folder.rglob("*.py") if "regard.tasks" in file.read_text(encoding="utf-8")] == []


def test_a_loop_that_keeps_in_memory_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    plan, keeper = tiny_plan(steps=4, eval_every=2), MemoryKeeper()
    with plan.task.prepare(plan, Workspace(tmp_path / "run")) as ready:
        loop = Loop(ready.model.build(), ready.task, ready.train, plan.training, keeper, ready.valid)
        report = loop.run()
    assert report.steps == 4
    assert keeper.has_weights
    assert keeper.weights.keys() == loop.model.state_dict().keys()
    assert [line["step"] for line in keeper.metrics if "lr_multiplier" in line] == [1, 2, 3, 4]
    assert [line["step"] for line in keeper.metrics if "valid" in line] == [2, 4]
    assert not keeper.checkpoints()
    assert keeper.load_checkpoint() is None
    assert not list(tmp_path.rglob("*"))


def test_weights_in_memory_are_those_of_the_best_validation_not_the_last():
    keeper, weights = MemoryKeeper(), {"w": torch.ones(2)}
    keeper.write_weights(weights)
    weights["w"].zero_()
    assert keeper.weights["w"].tolist() == [1, 1]


def test_a_script_that_trains_is_recorded_as_that_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also after a command in the same process, as in a notebook."""
    assert regard("completion", "bash") == 0
    monkeypatch.setattr(sys, "argv", ["my script.py", "--fast"])
    train_tiny(tmp_path / "run", steps=1)
    assert read_config(tmp_path / "run")["command"] == "python 'my script.py' --fast"
    assert "    python 'my script.py' --fast" in (tmp_path / "run" / "card.md").read_text()
    monkeypatch.setattr(sys, "argv", ["/usr/bin/ipykernel_launcher", "-f", "kernel.json"])
    train_tiny(tmp_path / "other", steps=1)
    assert read_config(tmp_path / "other")["command"] == "python"


def test_a_command_is_recorded_as_it_was_typed(tmp_path: Path):
    out = tmp_path / "my run"
    assert regard("train", "dates", "--out", out, "--steps=1", *DATES) == 0
    assert read_config(out)["command"].startswith(f"regard train dates --out '{out}' --steps=1")


def test_processes_are_started_with_the_words_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Not with those of the host, such as a notebook's."""
    started = []
    monkeypatch.setattr("regard.train.run_as_ranks", lambda count, words: started.append((count, words)) or 0)
    monkeypatch.setattr(sys, "argv", ["notebook.py", "--kernel"])
    words = ["train", "dates", "--out", str(tmp_path / "run"), "--steps=1", "--processes=2"]
    assert regard(*words) == 0
    assert started == [(2, tuple(words))]
    assert not (tmp_path / "run").exists(), "the ranks make it"


def test_notes_of_a_resumed_run_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.txt").write_text("to be or not to be " * 60)
    (tmp_path / "b.txt").write_text("not to be or to be " * 60)
    small = ["--model.width=16", "--model.layers=1", "--model.heads=2", "--data.length=8", "--training.batch_size=2"]
    words = ["train", "lm", "--out", tmp_path / "run"]
    assert regard(*words, "--data", tmp_path / "a.txt", "--steps=1", *small) == 0
    capsys.readouterr()
    assert regard(*words, "--data", tmp_path / "b.txt", "--steps=2", "--resume") == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert f"note: a resumed run continues with its own data ({tmp_path / 'a.txt'})" in output.err
    assert "next: regard generate" in output.err
    assert regard(*words, "--data", tmp_path / "a.txt", "--resume") == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert "had already ended, at step 2" in output.err


@pytest.mark.parametrize("value", [256, 128, 5])
def test_an_option_counts_as_given_though_it_has_its_default_value(
    value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A language model writes nothing that is scored, so that even a translator's default is of no use to it."""
    (tmp_path / "a.txt").write_text("to be or not to be " * 60)
    small = ["--model.width=16", "--model.layers=1", "--model.heads=2", "--data.length=8", "--training.batch_size=2"]
    assert regard("train", "lm", "--data", tmp_path / "a.txt", "--out", tmp_path / "run", "--steps=1", *small) == 0
    capsys.readouterr()
    assert regard("evaluate", tmp_path / "run", tmp_path / "a.txt", "--max-tokens", value) == 2
    error = capsys.readouterr().err
    assert error.startswith("regard: --max-tokens: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(("name", "attends"), [("rnn-attention", True), ("rnn", False)])
def test_models_have_names_for_dates_too(name: str, attends: bool, tmp_path: Path):
    out = tmp_path / "run"
    assert regard("train", "dates", "--out", out, "--model", name, "--steps=1", *DATES) == 0
    settings = yaml.safe_load((out / "config.yaml").read_text())
    assert settings["model"]["kind"] == "RNN"
    assert settings["model"]["width"] == 16
    assert (settings["model"]["attention"] is not None) == attends
    assert settings["data"]["kind"] == Dates.__name__
    assert len(load_run(out).translate(["3 mai 2020"], 4)) == 1


@pytest.mark.parametrize("error", [RuntimeError("timed out\nafter 60 s"), ValueError("no such host")])
def test_a_rank_that_cannot_connect_says_where_it_tried(error: Exception, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise error

    place = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29500"}
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("torch.distributed.init_process_group", refuse)
    with pytest.raises(UserError) as caught, join_ranks():
        pass
    message = str(caught.value)
    assert message.startswith("rank 1 cannot connect to the other ranks at 10.0.0.7:29500 (")
    assert str(error).splitlines()[0] in message
    assert len(message.splitlines()) == 1
