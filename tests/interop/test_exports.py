"""Runs of the recipes shipped to `transformers`: one that cannot be says how it can, and what it says is true."""

import re
from pathlib import Path

import pytest
import torch
import transformers

import regard
from regard.interop import export_huggingface
from regard.models import BERT, ClassifierHead
from regard.parts import Learned
from regard.tasks import Classify, load_run, save_run
from regard.text import BPE, Characters, MaskFilling, WordPiece
from tests.command import regard as command
from tests.images.make import write_classes

SMALL = ["--steps", 2, "--model.width", 16, "--model.layers", 1, "--model.heads", 2, "--training.batch_size", 4]
AUTO = {
    "lm": "AutoModelForCausalLM",
    "fill": "AutoModelForMaskedLM",
    "classify": "AutoModelForSequenceClassification",
    "image": "AutoModelForImageClassification",
}


def files(task: str, folder: Path) -> list[object]:
    if task == "image":
        write_classes(folder / "photos", 6)
        return ["--train", folder / "photos"]
    if task == "classify":
        (folder / "train.tsv").write_text("good\tthe cat sat on the mat\nbad\tit rained and rained\n" * 12)
        return ["--train", folder / "train.tsv"]
    (folder / "text.txt").write_text("the cat sat on the mat, and it rained\n" * 40)
    return ["--data", folder / "text.txt", "--data.length", 12]


@pytest.mark.parametrize(
    "kind", [BPE(vocab=300), WordPiece(vocab=60), Characters()], ids=lambda kind: type(kind).__name__
)
def test_an_encoder_reads_texts_as_it_has_learned_to(kind, tmp_path):
    """Between start and end, cut where ours are cut, and without the space before a gap where words bring it along."""
    torch.manual_seed(0)
    tokenizer = kind.train(["the cat sat on the mat, and it rained"] * 9)
    texts = ["the cat sat", "it rained and rained on the cat", ""]
    head, labels = ClassifierHead(labels=2), ("dry", "wet")
    config = BERT(vocab=tokenizer.vocab, width=16, layers=1, heads=2, position=Learned(64), head=head)
    model = config.build()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    save_run(tmp_path / "run", config, model, Classify(labels, max_length=9), tokenizer)
    export_huggingface(load_run(tmp_path / "run"), tmp_path / "hf")
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    with torch.no_grad():
        chances = theirs(**reader(texts, padding=True, truncation=True, return_tensors="pt")).logits.softmax(-1)
    assert (chances - regard.load(tmp_path / "run").label_probabilities(texts)[1]).abs().max() < 1e-5
    text = "the cat [MASK] on the [MASK][MASK]"
    assert reader(text.replace("[MASK]", reader.mask_token)).input_ids == MaskFilling(tokenizer).encode([text])[0]


@pytest.mark.parametrize("task", list(AUTO))
def test_what_a_refused_export_advises_can_be_exported(task, tmp_path, capsys):
    train = ["train", task, *files(task, tmp_path), *SMALL]
    assert command(*train, "--out", tmp_path / "own") == 0
    assert command("export", tmp_path / "own", "--to", "huggingface", "--out", tmp_path / "no") != 0
    errors = capsys.readouterr().err
    assert not (tmp_path / "no").exists()
    [advice] = re.findall(rf"`regard train {task} (.*)` makes one that can be written", " ".join(errors.split()))
    assert command(*train, *advice.split(), "--out", tmp_path / "plain") == 0
    assert command("export", tmp_path / "plain", "--to", "huggingface", "--out", tmp_path / "hf") == 0
    theirs = getattr(transformers, AUTO[task]).from_pretrained(tmp_path / "hf").eval()
    run = regard.load(tmp_path / "plain")
    if task == "image":
        given = torch.rand(2, run.config.channels, run.config.image, run.config.image)
    else:
        given = torch.randint(0, run.config.vocab, (2, 7))
    scale = run.task.mixture.network if task == "classify" else 1.0  # the temperature of its probabilities is exported
    with torch.no_grad():
        assert (theirs(given).logits - scale * run.model(given)).abs().max() < 1e-4
