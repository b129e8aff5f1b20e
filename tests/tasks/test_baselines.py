"""Baselines: simple methods on the validation data of a run, printed and kept beside its scores."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.text.tagged import TaggedSentence
from regard.store import read_metrics
from regard.tasks.baseline import Baseline, measure_baseline
from regard.tasks.classify import baseline as classify
from regard.tasks.lm.baseline import ngram_baseline
from regard.tasks.lm.kneser_ney import KneserNey
from regard.tasks.summarise.baseline import first_sentences, lead_baseline
from regard.tasks.tag.baseline import frequent_tags
from regard.tasks.training import _log_scores
from regard.tasks.translate.baseline import word_for_word, word_table
from tests.command import regard

TEXT = "the cat sat on the mat and the dog sat on the log. " * 20


def slow_kneser_ney(train: list[int], context: tuple[int, ...], token: int, vocab: int, order: int) -> float:
    """By the recursion of the paper, from dictionaries."""

    def grams(length: int) -> list[tuple[int, ...]]:
        return [tuple(train[i : i + length]) for i in range(len(train) - length + 1)]

    def counts(length: int) -> Counter[tuple[int, ...]]:
        if length == order:
            return Counter(grams(length))
        before = Counter(gram[1:] for gram in set(grams(length + 1)))
        return Counter({gram: max(1, before[gram]) for gram in set(grams(length))})

    probability = 1 / vocab
    for length in range(1, min(order, len(context) + 1) + 1):
        table = counts(length)
        once, twice = (sum(count == n for count in table.values()) for n in (1, 2))
        discount = once / (once + 2 * twice) if once and twice else 0.5
        after = {gram[-1]: n for gram, n in table.items() if gram[:-1] == context[len(context) - length + 1 :]}
        if not after:
            break
        total = sum(after.values())
        probability = (max(after.get(token, 0) - discount, 0) + discount * len(after) * probability) / total
    return probability


@given(st.lists(st.integers(0, 3), min_size=3, max_size=30), st.lists(st.integers(0, 4), min_size=2, max_size=6))
def test_the_n_gram_model_is_kneser_neys(train: list[int], text: list[int]):
    model = KneserNey(np.array(train), vocab=5, max_length=3)
    right = [slow_kneser_ney(train, tuple(text[max(0, i - 2) : i]), text[i], 5, 3) for i in range(1, len(text))]
    assert np.exp(model.log_probabilities(np.array(text))) == pytest.approx(right)


def test_the_probabilities_after_a_context_sum_to_one():
    model = KneserNey(np.array([0, 1, 2, 0, 1, 3, 2, 1, 0, 1, 2]), vocab=6, max_length=3)
    for first, second in itertools.product(range(6), repeat=2):
        after = [model.log_probabilities(np.array([first, second, token]))[-1] for token in range(6)]
        assert np.exp(after).sum() == pytest.approx(1)


def test_an_n_gram_model_knows_a_text_that_repeats_and_bounds_what_it_reads(monkeypatch: pytest.MonkeyPatch):
    tokens = np.frombuffer(TEXT.encode(), np.uint8)
    known = ngram_baseline(tokens[:800], tokens[800:], 256)
    assert known.value < 0.2 < math.log(256)
    monkeypatch.setattr("regard.tasks.lm.baseline.MAX_TRAIN", 200)
    bounded = ngram_baseline(tokens[:800], tokens[800:], 256)
    assert "of the last 200 training tokens" in bounded.method
    assert known.value < bounded.value


def test_a_run_behind_its_baseline_says_so(notes: list[str]):
    accuracy = Baseline("counting", "accuracy", 0.8, "train longer")
    loss = Baseline("counting", "loss", 0.8, "train longer", lower_is_better=True)
    for baseline, score, behind in ((accuracy, 0.7, True), (accuracy, 0.8, False), (loss, 0.7, False),
                                    (loss, 0.9, True), (loss, math.nan, True)):  # fmt: skip
        measure_baseline(partial(replace, baseline), {baseline.score: score})
        assert ("the run is behind it; train longer" in notes[-1]) == behind
        assert notes[-1].startswith(f"baseline: {baseline.score} 0.8000 by counting, in ")
    assert measure_baseline(lambda: None, {}) is None
    assert (accuracy.lead({"accuracy": 0.9}), loss.lead({"loss": 0.8})) == ("ahead by 0.1000", "level")


def test_a_score_of_few_examples_says_so(notes: list[str]):
    _log_scores("runs/a: accuracy 1.0000", 8)
    assert "accuracy 1.0000, on 8 validation examples" in notes[-2]
    assert "8 validation examples are too few" in notes[-1]
    _log_scores("runs/a: accuracy 1.0000", 800)
    assert "on 800 validation examples" in notes[-1]


def test_frequent_tags_guess_words_that_are_new():
    train = [TaggedSentence(("the", "can", "can"), ("DET", "NOUN", "AUX"), ""), TaggedSentence(("can",), ("AUX",), "")]
    train += [TaggedSentence(("cats", "dogs", "run"), ("NOUN", "NOUN", "VERB"), "")]
    valid = [TaggedSentence(("the", "can", "birds", "birds"), ("DET", "NOUN", "NOUN", "VERB"), "")]
    assert frequent_tags(train, valid).value == 0.5
    spans = [TaggedSentence(("in", "Rome"), ("O", "B-LOC"), "")]
    assert (frequent_tags(spans, spans).score, frequent_tags(spans, spans).value) == ("span_f1", 1.0)


def test_words_are_translated_by_what_occurs_together():
    pairs = [("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book"), ("ein haus", "a house")]
    assert word_table(pairs) == {"das": "the", "haus": "house", "buch": "book", "ein": "a"}
    assert word_table([("", "x"), ("y", "")]) == {}
    long = [(f"{a} {b} " * 3, f"{c} {d} " * 3) for (a, b), (c, d) in ((x.split(), y.split()) for x, y in pairs)]
    assert word_for_word(pairs, long).value == pytest.approx(100)
    copied = word_for_word(pairs, [("one two three four five", "one two three four five")])
    assert (copied.method, copied.score) == ("the source as it is", "bleu")


def test_summaries_begin_as_documents_do():
    assert first_sentences(["One. Two.", " alone ", "", "Is it? Yes"]) == ["One.", "alone", "", "Is it?"]
    best = lead_baseline([("a b c. d e f g h", ("a b c",)), ("x y. z", ("x y",))])
    assert best is not None
    assert (best.method, best.value) == ("the first sentence of each document", pytest.approx(100))


def test_tfidf_is_bounded_and_takes_any_texts(monkeypatch: pytest.MonkeyPatch):
    rows = [("good", "a fine film"), ("bad", "a dull film")] * 10
    assert classify.tfidf_baseline(rows, rows).value == 1
    assert classify.tfidf_baseline([("a", ""), ("b", " "), ("b", "")], [("b", "x")]).method == "the most frequent label"
    monkeypatch.setattr(classify, "MAX_CHARACTERS", 30)
    some = classify.sample_texts([*rows, ("rare", "unique")])
    assert len(some) < 10
    assert {label for label, _ in some} == {"good", "bad", "rare"}
    assert "of the texts" in classify.tfidf_baseline(rows, rows).method


def test_a_run_keeps_its_baseline(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "a.txt").write_text(TEXT)
    small = ["--model.width=16", "--model.layers=1", "--data.length=16", "--training.batch_size=4", "--steps=2"]
    words = ["train", "lm", "--out", tmp_path / "run", "--data", tmp_path / "a.txt", *small]
    assert regard(*words) == 0
    assert "baseline: loss 0." in (error := capsys.readouterr().err)
    assert "the run is behind it; train longer (--minutes), or with more text" in error
    card = (tmp_path / "run" / "card.md").read_text()
    assert "- baseline: loss 0." in card
    assert "Kneser-Ney" in card
    assert 0 < read_metrics(tmp_path / "run")[-1]["baseline_loss"] < 1
    assert regard(*words, "--resume") == 0
    assert "baseline:" not in capsys.readouterr().err, "the run had ended"
