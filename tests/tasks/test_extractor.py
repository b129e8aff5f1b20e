"""The extractor of a summariser: its spans, its labels, its fit, and when its span is said."""

import random
from pathlib import Path

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from regard.core.errors import UserError
from regard.store import read_metrics
from regard.tasks import load_run
from regard.tasks.summarise.candidates import COMPARED, compared
from regard.tasks.summarise.extract_fit import fit_extractor, rouge, span_rouge
from regard.tasks.summarise.extractor import Extract, load_extractor
from regard.tasks.summarise.selector import EXTRACTOR_ALONE, Selector, fit_selector
from regard.tasks.summarise.spans import BITS, INSIDE, Document, best_span, length_feature
from tests.command import regard

WORDS = ["red", "blue", "old", "new", "dog", "cat", "car", "tree", "runs", "stands"]


def some_documents(count: int, seed: int = 0) -> list[tuple[str, tuple[str, ...]]]:
    """What matters comes after `namely`, in one of three sentences, and ends at a comma."""
    rng, rows = random.Random(seed), []
    for _ in range(count):
        matters = " ".join(rng.choices(WORDS, k=3))
        parts = [" ".join(rng.choices(WORDS, k=6)) + "." for _ in range(2)]
        parts.insert(rng.randrange(3), f"It {rng.choice(WORDS)} namely {matters}, {rng.choice(WORDS)} too.")
        rows.append((" ".join(parts), (matters,)))
    return rows


def test_spans_are_all_short_runs_of_words_within_a_sentence():
    document = Document.of("One two three. Four!")
    texts = {document.text(span) for span in document.spans(2)}
    assert texts == {"One", "One two", "two", "two three.", "three.", "One two three.", "Four!"}
    assert document.text((0, 0, 3)) == "One two three."
    assert Document.of("a (b").text((0, 0, 2)) == "a (b".rstrip()
    assert Document.of("so, then").text((0, 0, 1)) == "so"
    assert list(Document.of(" \n ").spans(3)) == []


def test_no_span_is_empty_once_it_is_trimmed():
    document = Document.of("a : b , ( c ; . : , ;")
    for most in (1, 2, 20):
        assert all(document.text(span) for span in document.spans(most))
    texts = {document.text(span) for span in document.spans(2)}
    assert texts == {"a", ": b", "b", "( c", "c", "; .", ".", "a : b , ( c ; ."}
    assert best_span(": ,", np.zeros(1 << BITS), 0.0, 1) == (": ,", 0.0)


def test_labels_are_the_rouge_of_the_field():
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    rng = random.Random(1)
    for _ in range(40):
        source, targets = " ".join(rng.choices(WORDS, k=9)), [" ".join(rng.choices(WORDS, k=k)) for k in (3, 5)]
        document = Document.of(source)
        spans = list(document.spans(5))
        for span, value in zip(spans, span_rouge(document, spans, targets), strict=True):
            theirs = max(scorer.score(target, document.text(span))["rougeL"].fmeasure for target in targets)
            assert value == pytest.approx(theirs)
        assert rouge(source, targets) == pytest.approx(scorer.score_multi(targets, source)["rougeL"].fmeasure)


def test_the_score_of_a_span_is_the_sum_of_its_features():
    document = Document.of("Red dogs run, and (old) cats stand still. They sleep.")
    weight = np.random.default_rng(0).normal(size=1 << BITS)
    spans = list(document.spans(4))
    for (number, first, last), score in zip(spans, document.scores(weight, spans), strict=True):
        expected = weight[document.start(number, first)].sum() + weight[document.end(number, last)].sum()
        expected += weight[length_feature(last - first)] + INSIDE * weight[document.inside(number)[first:last]].sum()
        assert score == pytest.approx(expected)


def test_what_matters_is_found_in_documents_that_were_not_seen(tmp_path: Path):
    model = fit_extractor(some_documents(300), Extract())
    new = some_documents(50, seed=9)
    assert np.mean([rouge(model.best(source).text, targets) for source, targets in new]) > 0.85
    assert fit_extractor(some_documents(300), Extract(documents=20)).best(new[0][0]).text in new[0][0]
    model.save(tmp_path / "x.safetensors")
    again = load_extractor(tmp_path / "x.safetensors")
    assert [again.best(source).text for source, _ in new] == [model.best(source).text for source, _ in new]


def test_texts_without_words_are_no_error(tmp_path: Path):
    model = fit_extractor([("", ("a",)), ("  ", ("",))], Extract())
    assert model.best("a b c").text in "a b c"
    assert best_span("   ", model.weight, 0.0, 3) == ("", 0.0)
    assert model.best("日本語の文。次の文。").text
    (tmp_path / "bad").write_bytes(b"no")
    with pytest.raises(UserError):
        load_extractor(tmp_path / "bad")


def test_the_network_counts_where_it_helps():
    rng = np.random.default_rng(0)
    sure, score = rng.uniform(size=400), rng.uniform(size=400)
    network, extractor = sure + rng.normal(0, 0.1, 400), score + rng.normal(0, 0.1, 400)
    given = [each.tolist() for each in (sure, score, network, extractor)]
    selector = fit_selector(*given)
    assert (selector.network_first(*given[:2]) == (sure > score)).mean() > 0.95
    assert fit_selector(*given[:2], (network - 2).tolist(), given[3]) == EXTRACTOR_ALONE
    assert fit_selector(*(each[:9] for each in given)) == EXTRACTOR_ALONE, "nine are no evidence"
    assert EXTRACTOR_ALONE.never
    assert not selector.never
    assert Selector().network_first([0.0], [1.0]).all(), "without an extractor the network decides"


def test_the_selector_is_fitted_on_a_sample_of_all_documents():
    """Of a sorted file, the beginning would be documents of one kind."""
    documents = [(f"{number}", ("text",)) for number in range(1000)]
    numbers = [int(text) for text, _ in compared(documents)]
    assert len(set(numbers)) == COMPARED
    assert 400 < np.mean(numbers) < 600
    assert compared(documents[:30]) == documents[:30]


def test_a_short_training_is_not_behind_the_first_sentence(tmp_path: Path, capsys: pytest.CaptureFixture):
    for name, count in (("train", 200), ("dev", 30)):
        rows = some_documents(count, seed=count)
        (tmp_path / f"{name}.tsv").write_text("".join(f"{source}\t{targets[0]}\n" for source, targets in rows))
    small = [
        "--steps=2",
        "--training.batch_size=8",
        "--model.width=16",
        "--model.layers=1",
        "--data.tokenizer.vocab=300",
    ]
    files = ["--train", tmp_path / "train.tsv", "--valid", tmp_path / "dev.tsv"]
    assert regard("train", "summarise", *files, *small, "--out", tmp_path / "run") == 0
    scores = read_metrics(tmp_path / "run")[-1]
    assert scores["rougeL"] > 80 > scores["baseline_rougeL"]
    run = load_run(tmp_path / "run")
    assert run.task.choice.never
    assert run.summarise(["Red cat. It runs namely old tree, dog too."])[0].startswith("old tree")
    (tmp_path / "run" / "extractor.safetensors").unlink()
    with pytest.raises(UserError, match=r"extractor.safetensors: is missing"):
        load_run(tmp_path / "run")


def test_a_run_that_had_ended_keeps_its_choice(tmp_path: Path):
    rows = "".join(f"{source}\t{targets[0]}\n" for source, targets in some_documents(60))
    (tmp_path / "x.tsv").write_text(rows)
    small = ["--steps=1", "--training.batch_size=8", "--model.width=16", "--model.layers=1"]
    words = ["train", "summarise", "--train", tmp_path / "x.tsv", "--valid", tmp_path / "x.tsv", *small]
    assert regard(*words, "--data.tokenizer.vocab=300", "--out", tmp_path / "run") == 0
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("constant: 0.0", "constant: 0.5"))
    assert regard(*words, "--data.tokenizer.vocab=300", "--out", tmp_path / "run", "--resume") == 0
    assert load_run(tmp_path / "run").task.choice.constant == 0.5
