"""Progress of a fit: the stages that are reported, and the bar on a terminal alone."""

import io
import sys

import numpy as np
import pytest

from regard.cli.tables.bar import progress_bar
from regard.tables import NPTClassifier
from regard.tables.folds import split_folds
from regard.tables.network.in_context import ClosedFormCache
from regard.tables.network.pretrained import pretrained_model
from regard.tables.progress import listening, report, within
from regard.tables.small import Small


def test_stages_go_to_the_listener_with_the_parts_around_them():
    heard: list[str] = []
    report("nobody listens")
    with listening(heard.append):
        report("one")
        with within("fold 1 of 2"):
            report("keys")
            with within("deep"):
                report("deeper")
        report("two")
    report("nobody listens any more")
    assert heard == [
        "one", "fold 1 of 2", "fold 1 of 2 · keys", "fold 1 of 2 · deep", "fold 1 of 2 · deep · deeper", "two"
    ]  # fmt: skip


def test_a_fit_reports_its_stages_and_prints_nothing(capsys: pytest.CaptureFixture):
    table = np.random.default_rng(0).normal(size=(90, 3))
    heard: list[str] = []
    with listening(heard.append):
        model = NPTClassifier(mode="in_context", random_state=0).fit(table, table.argmax(1))
        assert heard == ["encoding the columns", "calibrating on held-out rows"]
        small = Small(pretrained_model(None), model.tables_[0], 0, ClosedFormCache())
        small.train(0, *split_folds(model.tables_[0], 3, 0, 100)[0], seconds=0.1)
    assert heard[2:] == ["in context", "learned keys", "fine-tuning"]
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    with progress_bar(60):
        report("fold 1 of 3")
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar(3600):
        report("fold 1 of 3 [keys]")
        print("note: a line", file=sys.stderr)
    assert "fold 1 of 3 [keys]" in terminal.getvalue()
    assert "left" in terminal.getvalue()
    assert "note: a line" in terminal.getvalue()
