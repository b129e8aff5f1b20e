"""An encoder that fills in words, from a file to a filled line, through the command line and in Python."""

import io
import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from regard.core.errors import ConfigError, UserError
from regard.data.text.masked import MaskedWindows
from regard.models import BERT, ClassifierHead
from regard.parts import Rotary
from regard.store import RunFolder, read_config, read_metrics
from regard.tasks import MaskedLM, load_run, save_run
from regard.tasks.fill.recipe import masked_lm
from regard.tasks.fill.task import masked_lm_scores
from regard.tasks.training import train
from regard.text import Characters, WordPiece
from regard.train import evaluate
from tests.command import regard

SENTENCES = [
    "the cat sat on the mat.", "a dog lay in his basket.", "one horse stood behind our barn.",
    "two birds sang from that tree.", "my fish swims under some bridge.",
]  # fmt: skip
SMALL = ["--training.batch_size=8", "--model.width=32", "--model.heads=2", "--model.layers=2", "--data.length=16"]
QUICK = ["--training.schedule.warmup=10", "--model.dropout=0", "--task.fraction=0.3"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences that can be learned by heart, in all orders: a masked word follows from its own sentence."""
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    rng = torch.Generator().manual_seed(0)
    order = torch.randint(len(SENTENCES), (600,), generator=rng).tolist()
    path.write_text("".join(SENTENCES[number] + "\n" for number in order))
    return path


@pytest.fixture(scope="module")
def run(corpus: Path) -> Path:
    out = corpus.parent / "fill"
    assert regard("train", "fill", "--data", corpus, "--out", out, *SMALL, *QUICK, "--steps=200") == 0
    return out


def with_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_it_fills_what_it_has_learned_by_heart(run: Path):
    lines = ["the cat [MASK] on the mat.", "the [MASK] sat on the [MASK].", "two [MASK] [MASK] from that tree."]
    filled = load_run(run).fill([*lines, "nothing is missing", ""])
    assert filled == [
        "the cat sat on the mat.",
        "the cat sat on the mat.",
        "two birds sang from that tree.",
        "nothing is missing",
        "",
    ]
    assert load_run(run).fill([]) == []


def test_candidates_are_probabilities_in_order_and_do_not_depend_on_the_batch(run: Path):
    loaded = load_run(run)
    lines = ["the cat [MASK] on the mat.", "no gap", "[MASK] dog lay [MASK] his basket."]
    result = loaded.candidates(lines, 3)
    assert [len(masks) for masks in result] == [1, 0, 2]
    assert [masks[0][0].word for masks in result if masks] == ["sat", "a"]
    everything = loaded.candidates(lines[:1], 10_000)[0][0]
    probabilities = [one.probability for one in everything]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) == pytest.approx(1, abs=1e-4)
    assert probabilities[:3] == pytest.approx([one.probability for one in result[0][0]], abs=1e-5)


def test_the_command_prints_lines_or_a_table(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    text = "the cat [MASK] on the mat.\nno gap\na dog [MASK] in [MASK] basket."
    with_input(monkeypatch, text)
    assert regard("fill", run) == 0
    output = capsys.readouterr()
    assert output.out == "the cat sat on the mat.\nno gap\na dog lay in his basket.\n"
    assert output.err == "1 of 3 lines have no [MASK]: nothing to fill in there\n"
    with_input(monkeypatch, text)
    assert regard("fill", run, "--nbest", "2") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows] == [["1", "1"]] * 2 + [["3", "1"]] * 2 + [["3", "2"]] * 2
    assert [row[2] for row in rows[::2]] == ["sat", "lay", "his"]
    assert all(0 <= float(row[3]) <= 1 for row in rows)
    with_input(monkeypatch, "x")
    assert regard("fill", run, "--nbest", "0") == 2


def test_scores_are_the_same_every_time_and_in_every_way(
    run: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    """The validation loss of training, the score on its card, and measuring the kept-apart tokens' text again."""
    last = read_metrics(run)[-1]
    checked = [line["valid"] for line in read_metrics(run) if "valid" in line]
    assert last["loss"] == pytest.approx(min(checked), abs=1e-5)
    assert last["perplexity"] == pytest.approx(math.exp(last["loss"]))
    assert last["accuracy"] > 0.6, "of all that one word in three leaves open"
    assert "accuracy" in (run / "card.md").read_text()
    output = []
    for _ in range(2):
        assert regard("evaluate", run, corpus, "--json") == 0
        output.append(json.loads(capsys.readouterr().out))
    assert output[0] == output[1]
    assert output[0]["protocol"] == "30% of the words masked, the same ones every time, in windows of 16 tokens"
    assert output[0]["masked"] > 1000
    assert 0 <= output[0]["loss"] < 1


def test_scores_agree_with_brute_force_over_all_places():
    tokenizer = Characters().train(["abcdefgh"])
    words = torch.randint(5, tokenizer.vocab, (301,)).numpy()
    model = BERT(vocab=tokenizer.vocab, width=16, layers=2, heads=2, position=Rotary()).build().eval()
    data = MaskedWindows(words, 20, tokenizer, 0.2, batch=4)
    nats, right, count = 0.0, 0, 0
    with torch.no_grad():
        for batch in data.once():
            probabilities = model(batch.tokens, batch.valid).log_softmax(-1)
            for row, column in batch.chosen_valid.nonzero().tolist():
                place, answer = int(batch.chosen[row, column]), int(batch.answer[row, column])
                nats -= float(probabilities[row, place, answer])
                right += int(probabilities[row, place].argmax()) == answer
                count += 1
    scores = masked_lm_scores(model, data)
    assert scores["loss"] == pytest.approx(nats / count, abs=1e-5)
    assert scores["accuracy"] == pytest.approx(right / count)
    assert evaluate(model, MaskedLM(0.2), data) == pytest.approx(nats / count, abs=1e-5)


def test_loss_and_gradient_at_chosen_places_are_those_over_all_places():
    tokenizer = Characters().train(["abcdefgh"])
    words = torch.randint(3, tokenizer.vocab, (200,)).numpy()  # unknown and mask tokens among them, which never count
    model = BERT(vocab=tokenizer.vocab, width=16, layers=2, heads=2, dropout=0.0).build()
    batch = MaskedWindows(words, 20, tokenizer, 0.3, batch=4).batch(0)
    loss = MaskedLM(0.3).loss(model, batch)
    loss.total.backward()
    ours = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    answers = torch.full_like(batch.tokens, -100)
    for row, column in batch.chosen_valid.nonzero().tolist():
        answers[row, batch.chosen[row, column]] = batch.answer[row, column]
    total = F.cross_entropy(model(batch.tokens).flatten(0, 1), answers.flatten(), ignore_index=-100, reduction="sum")
    total.backward()
    assert int(loss.terms) == int((answers != -100).sum())
    assert torch.allclose(loss.total, total, rtol=1e-5)
    theirs = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(ours, theirs, strict=True))


def test_a_run_resumed_in_the_middle_of_an_epoch_ends_with_the_same_bits(corpus: Path, tmp_path: Path):
    plan = masked_lm((str(corpus),))
    plan = replace(
        plan,
        data=replace(plan.data, length=16),
        model=replace(plan.model, width=16, layers=1, heads=2),
        training=replace(
            plan.training,
            batch_size=8,
            minutes=None,
            steps=9,
            checkpoint_minutes=1e-9,
            keep_checkpoints=9,
            log_every=1,
        ),
    )
    train(plan, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / "model.safetensors").unlink()
    for checkpoint in RunFolder(tmp_path / "cut").checkpoints()[5:]:
        shutil.rmtree(checkpoint)
    report = train(plan, tmp_path / "cut", resume=True)
    assert report.steps == 4
    whole, cut = (tmp_path / name / "model.safetensors" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()
    losses = [[line["loss"] for line in read_metrics(path.parent) if "lr_multiplier" in line] for path in (whole, cut)]
    assert losses[0] == losses[1]


def test_words_of_another_librarys_bert_are_its_own(tmp_path: Path):
    """Probabilities as `transformers` gives them, from its folder with BERT's own special tokens."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "##s", "."]
    engine = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    engine.normalizer = normalizers.BertNormalizer()
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    engine.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{role}_token": f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=engine, **special)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    model = transformers.BertForMaskedLM(config).eval()
    torch.nn.init.normal_(model.cls.predictions.bias)
    model.save_pretrained(tmp_path)
    theirs.save_pretrained(tmp_path)

    run = load_run(tmp_path)
    begin = [word for word in words[5:] if word != "##s"]
    for text, first in (("the cat [MASK] on the mats.", begin), ("the cat[MASK] on the mats.", words[5:])):
        [[candidates]] = run.candidates([text], 100)
        read = theirs(text, return_tensors="pt")
        with torch.no_grad():
            probabilities = model(**read).logits[0, 3].softmax(-1)
        known = {word: float(probabilities[words.index(word)]) for word in first}
        expected = {word: probability / sum(known.values()) for word, probability in known.items()}
        assert dict(candidates) == pytest.approx(expected, abs=1e-5), (
            "after a space nothing goes on with the word before"
        )
        best = max(expected, key=expected.__getitem__)
        assert run.fill([text]) == [text.replace("[MASK]", best.removeprefix("##"))]


@pytest.mark.parametrize(
    "more",
    [
        ["--data.tokenizer=WordPiece", "--data.tokenizer.vocab=100"],
        ["--data.tokenizer=Characters"],
        ["--model.position=Learned"],
        ["--model.wiring=PostNorm", "--task.fraction=0.5"],
        ["--training.accumulation=2"],
    ],
)
def test_every_part_can_be_chosen(more: list[str], corpus: Path, tmp_path: Path):
    assert regard("train", "fill", "--data", corpus, "--out", tmp_path / "x", *SMALL, *more, "--steps=3") == 0
    [filled] = load_run(tmp_path / "x").fill(["the [MASK] sat"])
    assert filled.startswith("the")
    assert "[MASK]" not in filled


@pytest.mark.parametrize(
    ("more", "message"),
    [(["--model=GPT"], "fills in no words; choose BERT"), (["--model.head=NoHead"], "fills in no words"),
     (["--task.fraction=0"], "task.fraction: must be above 0"), (["--data.length=2"], "length: must be at least 3"),
     (["--data.tokenizer.vocab=3"], "must be at least")],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_line(
    more: list[str], message: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    words = [word for word in SMALL if not more[0].startswith("--model=") or "model" not in word]
    assert regard("train", "fill", "--data", corpus, "--out", tmp_path / "x", *words, *more, "--steps=3") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_other_runs_fill_in_nothing(tmp_path: Path):
    tokenizer = WordPiece(vocab=30).train(["a b c"])
    labels = BERT(vocab=tokenizer.vocab, width=16, layers=1, head=ClassifierHead(2))
    save_run(tmp_path / "labels", labels, labels.build(), tokenizer=tokenizer)
    with pytest.raises(UserError, match="has no 'fill': its task is Classify"):
        load_run(tmp_path / "labels").fill(["[MASK]"])
    words = BERT(vocab=tokenizer.vocab, width=16, layers=1)
    save_run(tmp_path / "words", words, words.build())
    with pytest.raises(UserError, match="fills in tokens but no words"):
        load_run(tmp_path / "words").candidates(["[MASK]"])
    with pytest.raises(ConfigError):
        MaskedLM(fraction=1.0)


def test_the_run_keeps_the_settings_of_its_task(run: Path):
    assert read_config(run)["task"] == {
        "kind": "MaskedLM",
        "fraction": 0.3,
        "length": read_config(run)["data"]["length"],
    }
