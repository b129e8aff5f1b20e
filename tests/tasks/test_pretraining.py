"""A classifier that is pre-trained on unlabelled texts in the same command."""

from pathlib import Path

import pytest
import torch

from regard.core.errors import UserError
from regard.data.text.masked import Masking
from regard.data.text.unlabelled import MaskedTexts, read_unlabelled
from regard.store import read_config
from regard.tasks.classify.pretraining import read_texts
from regard.text import Characters
from regard.train import Loop
from tests.command import regard

SMALL = [
    "--steps=4", "--training.batch_size=4", "--model.width=16", "--model.heads=2", "--model.layers=1",
    "--task.pretraining.epochs=1", "--task.pretraining.batch_size=4", "--data.tokenizer.vocab=300",
]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = ["good\twhat a fine day", "bad\tnever again", "good\tthe sun was warm", "bad\tit rained and rained"]
    (tmp_path / "few.tsv").write_text("".join(f"{row}\n" for row in rows * 4))
    (tmp_path / "more.txt").write_text("a zebra in the zoo\n\nanother zebra\n" * 20)
    (tmp_path / "more.jsonl").write_text('{"text": "a line of JSON"}\n')
    return tmp_path


def test_lines_and_records_are_texts_and_empty_ones_are_none(files: Path):
    found = list(read_unlabelled([str(files / "more.txt"), str(files / "more.jsonl")]))
    assert len(found) == 41
    assert found[:2] == ["a zebra in the zoo", "another zebra"]
    assert found[-1] == "a line of JSON"
    (files / "empty.txt").write_text("\n \n")
    with pytest.raises(UserError, match=r"empty\.txt: no texts"):
        read_texts([str(files / "empty.txt")])


def test_rows_are_texts_in_frames_with_masked_words():
    tokenizer = Characters().train(["abcdef"])
    data = MaskedTexts(["abc", "abcdefabc", "f"], 6, Masking(tokenizer, 0.4), tokenizer, batch=4)
    assert sorted(len(row) for row in data.rows) == [3, 3, 5, 6, 6], "a long text is several rows"
    assert all(row[0] == tokenizer.start and row[-1] == tokenizer.end for row in data.rows)
    batch, again = data.batch(3), data.batch(3)
    torch.testing.assert_close(batch.tokens, again.tokens)
    restored = batch.tokens.scatter(1, batch.chosen, batch.answer)
    shown = [row[valid].tolist() for row, valid in zip(restored, batch.valid, strict=True)]
    assert all(row in data.rows for row in shown)
    assert not set(batch.answer[batch.chosen_valid].tolist()) & set(tokenizer.special)
    assert sum(one.rows for one in data.once()) == 5


def test_the_encoder_starts_from_the_pretrained_one(files: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    trained: dict[str, torch.Tensor] = {}
    run = Loop.run

    def watched(self: Loop):
        if not trained:
            report = run(self)
            trained.update({name: tensor.clone() for name, tensor in self.model.state_dict().items()})
            return report
        for name in ("embedding.table.weight", "encoder.0.attend.query.weight"):
            torch.testing.assert_close(self.model.state_dict()[name], trained[name])
        return run(self)

    monkeypatch.setattr(Loop, "run", watched)
    out = files / "run"
    command = ["train", "classify", "--train", files / "few.tsv", "--unlabelled", files / "more.txt", "--out", out]
    assert regard(*command, *SMALL) == 0
    assert trained
    assert "pre-training on the masked words of 54 texts" in capsys.readouterr().err, "none of the validation texts"
    assert read_config(out)["data"]["unlabelled"] == [str(files / "more.txt")]
    assert "zebra" in (out / "tokenizer.json").read_text(), "the vocabulary is that of all texts"
    monkeypatch.undo()
    assert regard(*command, *SMALL[1:], "--resume", "--steps=6") == 0
    assert "masked words" not in capsys.readouterr().err, "a run that is continued has its weights"


def test_what_does_not_go_together_is_refused(files: Path, capsys: pytest.CaptureFixture):
    command = ["train", "classify", "--train", files / "few.tsv", "--unlabelled", files / "more.txt"]
    assert regard(*command, "--out", files / "a", "--init", files / "b") == 2
    assert "--init and --unlabelled: choose one" in capsys.readouterr().err
    assert regard(*command, "--out", files / "a", "--model", "RNNClassifier") == 2
    assert "pre-trains a BERT" in capsys.readouterr().err
    assert regard(*command, "--out", files / "a", "--task.pretraining.minutes", "0") == 2
    assert "minutes: must be more than 0" in capsys.readouterr().err
