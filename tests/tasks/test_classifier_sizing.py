"""The recipe of a text classifier follows its texts, and says why."""

from pathlib import Path

import pytest

from regard.tasks.classify import sizing
from regard.tasks.classify.recipe import classifier
from regard.tasks.classify.sizing import fitted
from regard.tasks.plan import Plan
from tests.command import regard


def plan_of(tmp_path: Path, words: int, rows: int = 40) -> Plan:
    texts = "".join(f"{'ab'[number % 2]}\t{'word ' * words}\n" for number in range(rows))
    (tmp_path / "a.tsv").write_text(texts)
    return classifier((str(tmp_path / "a.tsv"),), ())


def test_sentences_are_the_recipe_itself(tmp_path: Path):
    plan = plan_of(tmp_path, 50)
    assert fitted(plan) == (plan, {})


@pytest.mark.parametrize(("words", "length", "batch"), [(120, 192, 64), (200, 320, 32), (5000, 512, 32)])
def test_longer_texts_are_read_further(words: int, length: int, batch: int, tmp_path: Path):
    plan, reasons = fitted(plan_of(tmp_path, words))
    assert plan.data.max_length == length
    assert plan.training.batch_size == batch
    assert f"{length} tokens of each text are read" in reasons["data.max_length"]


def test_many_texts_train_a_larger_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sizing, "MANY_TEXTS", 30)
    plan, reasons = fitted(plan_of(tmp_path, 5))
    assert (plan.model.width, plan.model.layers) == (256, 4)
    assert "40 texts can train them" in reasons["model"]


def test_a_label_with_few_texts_is_named_and_files_that_cannot_be_read_are_left_to_training(
    tmp_path: Path, capsys: pytest.CaptureFixture
):
    plan_of(tmp_path, 5, rows=11)
    command = ["train", "classify", "--train", tmp_path / "a.tsv", "--out", tmp_path / "run", "--show-settings"]
    assert regard(*command) == 0
    assert capsys.readouterr().out.startswith("# the label 'b' has 5 texts: too few to learn it")
    missing = classifier((str(tmp_path / "none.tsv"),), ())
    assert fitted(missing) == (missing, {})
