"""A classifier that starts from what an encoder has learned of running text."""

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.core.errors import ConfigError
from regard.interop.loading import start_model
from regard.models import BERT, GPT, ClassifierHead
from regard.store import RunFolder, read_config, read_metrics
from regard.tasks import load_run, save_run
from regard.tasks.classify.recipe import classifier
from regard.tasks.pretrained import finetuned
from regard.tasks.training import train
from regard.text import Characters, Tokenizer
from regard.train.loop import Loop
from tests.command import regard

SMALL = ["--training.batch_size=8", "--training.checkpoint_minutes=1e-9"]


def names(kind: int) -> list[str]:
    """A dozen made-up names of a kind; nothing in their letters tells the kind."""
    rng = random.Random(5)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    rng.shuffle(syllables)
    made = ["".join(rng.sample(syllables, 3)) for _ in range(24)]
    assert len(set(made)) == 24
    return made[kind::2]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text shows what each name does; five names of a kind are labelled in training, the others in validation."""
    folder, rng = tmp_path_factory.mktemp("tuning"), random.Random(1)
    animals, stones = names(0), names(1)
    verbs = [("runs", "eats", "sleeps"), ("shines", "breaks", "rolls")]
    kinds = [rng.randrange(2) for _ in range(3000)]
    lines = [f"the {rng.choice((animals, stones)[kind])} {rng.choice(verbs[kind])}" for kind in kinds]
    (folder / "corpus.txt").write_text("\n".join(lines))
    for name, chosen in (("train", slice(0, 5)), ("valid", slice(5, 12))):
        rows = [("animal", n) for n in animals[chosen]] + [("stone", n) for n in stones[chosen]]
        (folder / f"{name}.tsv").write_text("".join(f"{label}\tthe {text}\n" for label, text in rows * 4))
    return folder


@pytest.fixture(scope="module")
def encoder(files: Path) -> Path:
    small = ["--model.width=32", "--model.layers=2", "--model.heads=2", "--data.length=18", "--training.batch_size=32"]
    words = ["--data", files / "corpus.txt", "--out", files / "encoder", "--steps=200", *small, "--model.dropout=0"]
    assert (
        regard(
            "train", "fill", *words, "--training.eval_every=1000", "--data.tokenizer.vocab=800", "--task.fraction=0.3"
        )
        == 0
    )
    return files / "encoder"


def data(files: Path) -> list[object]:
    return ["--train", files / "train.tsv", "--valid", files / "valid.tsv"]


def test_it_starts_with_exactly_the_trunk_and_a_new_head(encoder: Path, files: Path, tmp_path: Path, monkeypatch):  # type: ignore[no-untyped-def]
    seen = {}

    def stop(loop: Loop) -> None:
        seen.update({name: tensor.clone() for name, tensor in loop.model.state_dict().items()})
        raise KeyboardInterrupt

    monkeypatch.setattr(Loop, "run", stop)
    assert regard("train", "classify", *data(files), "--init", encoder, "--out", tmp_path / "x", *SMALL) == 130
    was = load_run(encoder).model.state_dict()
    trunk = {name for name in was if not name.startswith("head.")} - {"embedding.head_bias"}
    assert trunk == {name for name in seen if not name.startswith("head.")}
    assert len(trunk) > 20
    assert all(torch.equal(seen[name], was[name]) for name in trunk)
    assert {name for name in seen if name.startswith("head.")} == {
        f"head.{layer}.{kind}" for layer in ("pool", "label") for kind in ("weight", "bias")
    }


def test_it_knows_names_whose_labels_it_never_saw(encoder: Path, files: Path, tmp_path: Path):
    quick = ["--training.batch_size=8", "--epochs=20", "--training.ema=0"]
    assert regard("train", "classify", *data(files), "--init", encoder, "--out", tmp_path / "tuned", *quick) == 0
    shape = ["--model.width=32", "--model.layers=2", "--model.heads=2", "--data.tokenizer.vocab=300"]
    assert regard("train", "classify", *data(files), "--out", tmp_path / "alone", *quick, *shape) == 0
    tuned_right, alone_right = (read_metrics(tmp_path / name)[-1]["accuracy"] for name in ("tuned", "alone"))
    assert tuned_right > 0.85
    assert tuned_right > alone_right + 0.15
    assert f"started from: {encoder}" in (tmp_path / "tuned" / "card.md").read_text()
    assert "started from" not in (tmp_path / "alone" / "card.md").read_text()


def test_the_config_records_where_it_started_and_what_it_took_over(encoder: Path, files: Path, tmp_path: Path):
    out = tmp_path / "x"
    assert regard("train", "classify", *data(files), "--init", encoder, "--out", out, *SMALL, "--steps=2") == 0
    config, was = read_config(out), read_config(encoder)
    assert config["init"] == str(encoder)
    assert config["data"]["tokenizer"] is None
    changed = {name for name in was["model"] if config["model"][name] != was["model"][name]}
    assert changed <= {"head", "dropout"}
    assert Tokenizer.load(out / "tokenizer.json").vocab == Tokenizer.load(encoder / "tokenizer.json").vocab
    assert read_config(out)["training"]["optimiser"]["lr"] < classifier(("a",), ("b",)).training.optimiser.lr


def test_what_the_user_says_wins(encoder: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    words = ["--epochs=7", "--training.optimiser.lr=0.002", "--model.dropout=0.4", "--show-settings"]
    assert regard("train", "classify", *data(files), "--init", encoder, "--out", tmp_path / "x", *words) == 0
    output = capsys.readouterr().out
    assert "epochs: 7" in output
    assert "lr: 0.002" in output
    assert "dropout: 0.4" in output
    assert f"init: {encoder}" in output


def test_resuming_no_longer_needs_the_pretrained_run(encoder: Path, files: Path, tmp_path: Path, capsys):  # type: ignore[no-untyped-def]
    moved = tmp_path / "encoder"
    shutil.copytree(encoder, moved)
    words = [*data(files), "--init", moved, *SMALL]
    assert (
        regard("train", "classify", *words, "--out", tmp_path / "whole", "--steps=6", "--training.keep_checkpoints=6")
        == 0
    )
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / "model.safetensors").unlink()
    for checkpoint in RunFolder(tmp_path / "cut").checkpoints()[3:]:
        shutil.rmtree(checkpoint)
    shutil.rmtree(moved)
    assert regard("train", "classify", *words, "--out", tmp_path / "cut", "--resume") == 0
    whole, cut = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert whole == cut
    capsys.readouterr()
    other = ["--init", files / "encoder", *SMALL, "--out", tmp_path / "cut", "--resume"]
    assert regard("train", "classify", *data(files), *other) == 2
    assert "init: a resumed run cannot change it" in capsys.readouterr().err


def test_a_run_killed_before_its_first_checkpoint_starts_from_the_encoder_again(
    encoder: Path, files: Path, tmp_path: Path
):
    words = [*data(files), "--init", encoder, *SMALL, "--steps=3"]
    assert regard("train", "classify", *words, "--out", tmp_path / "whole") == 0
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed" / "checkpoints")
    (tmp_path / "killed" / "model.safetensors").unlink()
    assert regard("train", "classify", *words, "--out", tmp_path / "killed", "--resume") == 0
    whole, killed = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "killed"))
    assert whole == killed


def test_a_classifier_can_be_tuned_to_other_labels(encoder: Path, files: Path, tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert regard("train", "classify", *data(files), "--init", encoder, "--out", first, *SMALL, "--steps=2") == 0
    (tmp_path / "b.tsv").write_text("".join(f"{label}\tthe {label}\n" for label in "abc"))
    other = ["--train", tmp_path / "b.tsv", "--valid", tmp_path / "b.tsv", *SMALL, "--steps=1"]
    assert regard("train", "classify", *other, "--init", first, "--out", second) == 0
    assert load_run(second).label_probabilities(["the a"])[0] == ("a", "b", "c")
    plan = finetuned(classifier((str(tmp_path / "b.tsv"),), (str(tmp_path / "b.tsv"),)), first)
    start = start_model(replace(plan.model, head=ClassifierHead(2, pooling="mean")), first).model.state_dict()
    was = load_run(first).model.state_dict()
    assert all(torch.equal(start[name], was[name]) for name in start if not name.startswith("head."))
    assert not torch.equal(start["head.label.weight"], was["head.label.weight"])


def test_another_librarys_bert_can_be_tuned(files: Path, tmp_path: Path):
    """A trunk of ours, written as a Hugging Face folder and pretrained from there."""
    words = ["--data", files / "corpus.txt", "--out", tmp_path / "ours", "--steps=2", "--data.length=18"]
    words += ["--model.width=16", "--model.layers=1", "--model.heads=2", "--model.position=Learned"]
    assert regard("train", "fill", *words, "--model.wiring=PostNorm", "--data.tokenizer.vocab=300") == 0
    assert regard("export", tmp_path / "ours", "--to", "huggingface", "--out", tmp_path / "theirs") == 0
    theirs, ours = (load_run(tmp_path / name).model.state_dict() for name in ("theirs", "ours"))
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)
    out = ["--init", tmp_path / "theirs", "--out", tmp_path / "x", *SMALL, "--steps=1"]
    assert regard("train", "classify", *data(files), *out) == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model.width=64"], "model.width: {} was trained with 32, not 64; leave it out"),
        (["--model.position=Learned"], "model.position: {} was trained with Rotary"),
        (["--model.feed.hidden=8"], "model.feed: {} was trained with GELU(hidden=None), not GELU(hidden=8)"),
        (["--model.vocab=9"], "model.vocab: {} was trained with"),
        (["--model=RNNClassifier"], "model: {} holds a BERT, not a RNNClassifier; leave it out"),
        (["--data.tokenizer=BPE"], "data.tokenizer: the model of {} has its own tokenizer; leave it out"),
    ],
)
def test_a_setting_at_odds_with_the_encoder_is_one_line(
    more: list[str], message: str, encoder: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    words = [*data(files), "--init", encoder, "--out", tmp_path / "x", *SMALL, *more]
    assert regard("train", "classify", *words) == 2
    error = capsys.readouterr().err
    assert message.format(encoder) in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_what_no_classifier_can_begin_from_is_one_line(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    tokenizer = Characters().train(["abc"])
    gpt = GPT(vocab=tokenizer.vocab, width=16, layers=1, heads=2)
    save_run(tmp_path / "gpt", gpt, gpt.build(), tokenizer=tokenizer)
    mute = BERT(vocab=tokenizer.vocab, width=16, layers=1, heads=2, head=ClassifierHead(2))
    save_run(tmp_path / "mute", mute, mute.build())
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("gpt", "holds a GPT; start from an encoder"), ("mute", "has no tokenizer that regard can use"),
        ("nowhere", "nowhere: there is no such folder"), ("empty", "is neither a run folder"),
    ):  # fmt: skip
        words = [*data(files), "--init", tmp_path / name, "--out", tmp_path / "x"]
        assert regard("train", "classify", *words) in (1, 2)
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
        assert not (tmp_path / "x").exists()


def test_without_an_encoder_a_tokenizer_is_needed(files: Path, tmp_path: Path):
    plan = classifier((str(files / "train.tsv"),), (str(files / "valid.tsv"),))
    with pytest.raises(ConfigError, match=r"data\.tokenizer: needs a kind"):
        train(replace(plan, data=replace(plan.data, tokenizer=None)), tmp_path / "x")
