"""The n-gram model beside the network of a text classifier, and how the two are mixed."""

import io
import json
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from regard.core.config import from_dict, to_dict
from regard.core.errors import ConfigError, UserError
from regard.store import NGRAMS, read_metrics
from regard.tasks import load_run
from regard.tasks.classify import ngram_fit
from regard.tasks.classify.mixture import Mixture, fit_mixture
from regard.tasks.classify.ngram_fit import calibrate, features_of, fit_ngrams, groups_of, log_odds
from regard.tasks.classify.ngram_model import FLOOR, NgramModel, Ngrams, load_ngrams
from regard.tasks.recording import ViewInput
from regard.train import Loop, Progress
from tests.command import regard

SETTINGS = Ngrams(bits=12)
GOOD, BAD, ANY = ["fine", "great", "lovely"], ["dull", "poor", "awful"], ["film", "plot", "scene", "actor", "day"]


def some_texts(count: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    rng = random.Random(seed)
    labels = [rng.randrange(2) for _ in range(count)]
    texts = [f"a {rng.choice((BAD, GOOD)[label])} {rng.choice(ANY)} {rng.choice(ANY)}" for label in labels]
    return texts, np.array(labels)


def test_weights_are_scikit_learns_tf_idf_of_pieces_and_of_words():
    counts = SETTINGS.count(["a fine film, a fine day", "a dull film", "日本 語"])
    features = features_of(counts, 1, SETTINGS, 2)
    halves = []
    for half in (features.buckets < 1 << 12, features.buckets >= 1 << 12):
        transform = TfidfTransformer(sublinear_tf=True)
        halves.append(transform.fit_transform(sparse.csr_matrix(counts[:, features.buckets[half]])))
    assert features.weights(counts).toarray() == pytest.approx(sparse.hstack(halves).toarray(), abs=1e-6)
    assert len(features_of(counts, 2, SETTINGS, 2).buckets) < len(features.buckets)
    assert len(features_of(counts, 1, Ngrams(bits=12, max_features=5), 2).buckets) == 5


def test_probabilities_are_those_of_logistic_regression():
    texts, two = some_texts(40)
    for labels, truth in ((2, two), (3, two + (np.arange(40) % 5 == 0))):
        fitted = fit_ngrams(texts, truth, labels, SETTINGS)
        chosen = fitted.hyperparameters
        weights = fitted.model.features.weights(SETTINGS.count(texts))
        freedom = log_odds(weights, truth, labels) ** chosen.bayes
        weights = sparse.csr_matrix(weights.multiply(freedom[None]))
        scores = LogisticRegression(C=chosen.penalty, tol=1e-4).fit(weights, truth).decision_function(weights)
        scores = np.stack([-scores / 2, scores / 2], 1) if labels == 2 else scores
        right = torch.tensor(chosen.scale * scores + np.array(chosen.shift)).softmax(-1)
        mine = fitted.model.log_probabilities(texts).exp()
        assert mine.numpy() == pytest.approx(((1 - FLOOR) * right + FLOOR / labels).numpy(), abs=0.02)


def test_log_odds_are_those_of_naive_bayes():
    """Counted text by text; an n-gram that tells labels apart gets a larger number than one that does not."""
    held = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0]])
    truth, expected = np.array([0, 0, 1, 2]), np.zeros(3)
    for label in range(3):
        inside, outside = held[truth == label].sum(0) + 1, held[truth != label].sum(0) + 1
        expected += np.log((inside / inside.sum()) / (outside / outside.sum())) ** 2 / 3
    weights = sparse.csr_array(held * np.array([0.5, 2.0, 1.0]))
    assert log_odds(weights, truth, 3) == pytest.approx(np.sqrt(expected), rel=1e-5)


def test_probabilities_are_calibrated_on_texts_that_the_model_has_not_seen():
    """Labels at random cannot be predicted, however well they can be learned by heart."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(400)]
    labels = np.array([rng.randrange(2) for _ in texts])
    model = fit_ngrams(texts[:200], labels[:200], 2, SETTINGS).model
    assert F.cross_entropy(model.log_probabilities(texts[200:]), torch.from_numpy(labels[200:])) < 0.75


def test_calibration_finds_the_temperature_and_the_shift():
    torch.manual_seed(0)
    scores = torch.randn(4000, 2)
    labels = torch.distributions.Categorical(logits=3 * scores + torch.tensor([0.5, -0.5])).sample()
    scale, shift = calibrate(scores, labels)
    assert scale == pytest.approx(3, rel=0.1)
    assert shift.tolist() == pytest.approx([0.5, -0.5], abs=0.15)


def test_a_rare_label_is_predicted_from_few_texts():
    rng = random.Random(1)
    rows = [("spam", "win a free prize now"), ("ham", "see you at home"), ("ham", "are you there yet")]
    texts, labels = [], []
    for number in range(60):
        label, text = rows[0] if number % 10 == 0 else rng.choice(rows[1:])
        texts.append(f"{text} {rng.choice(ANY)}")
        labels.append(int(label == "spam"))
    model = fit_ngrams(texts, np.array(labels), 2, SETTINGS).model
    assert model.log_probabilities(["free prize", "at home"]).argmax(-1).tolist() == [1, 0]


def test_single_texts_of_a_label_empty_texts_and_one_text_are_no_error():
    for texts, labels in ((["a b", "a c", "d e", ""], [0, 0, 1, 2]), (["", " "], [0, 1]), (["x"], [1])):
        fitted = fit_ngrams(texts, np.array(labels), 3, SETTINGS)
        scores = fitted.model.log_probabilities([*texts, "new"])
        assert torch.isfinite(scores).all()
        assert torch.allclose(scores.exp().sum(-1), torch.ones(len(scores)))


def test_large_files_are_learned_from_in_part(monkeypatch: pytest.MonkeyPatch):
    texts, labels = some_texts(300)
    monkeypatch.setattr(ngram_fit, "MAX_CHARACTERS", 1000)
    fitted = fit_ngrams(texts, labels, 2, SETTINGS)
    assert (fitted.model.log_probabilities(texts).argmax(-1).numpy() == labels).mean() > 0.9


def test_one_long_text_does_not_lengthen_the_others():
    texts = ["b", "a", "b", "c" * 1_000_000, *map(str, range(50))]
    tracemalloc.start()
    groups = groups_of(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert groups[0] == groups[2]
    assert len(set(groups)) == len(texts) - 1
    assert peak < 10_000_000


def test_a_model_is_saved_as_numbers_and_read_again(tmp_path: Path):
    texts, labels = some_texts(20)
    model: NgramModel = fit_ngrams(texts, labels, 2, SETTINGS).model
    model.save(tmp_path / NGRAMS)
    again = load_ngrams(tmp_path / NGRAMS, SETTINGS, 2)
    assert torch.equal(again.log_probabilities(texts), model.log_probabilities(texts))
    with pytest.raises(UserError, match="does not fit the 3 labels"):
        load_ngrams(tmp_path / NGRAMS, SETTINGS, 3)
    with pytest.raises(UserError, match=r"beyond task.ngrams.bits \(8\)"):
        load_ngrams(tmp_path / NGRAMS, Ngrams(bits=8), 2)
    with pytest.raises(UserError, match="is missing"):
        load_ngrams(tmp_path / "none", SETTINGS, 2)
    with pytest.raises(ConfigError, match="bits: must be between 8 and 24, not 40"):
        Ngrams(bits=40)


def test_the_network_counts_where_it_helps():
    torch.manual_seed(1)
    labels = torch.randint(3, (600,))
    right = F.one_hot(labels, 3).float()
    ngrams = (right + torch.randn(600, 3)).log_softmax(-1)
    assert fit_mixture(torch.randn(600, 3) - right, ngrams, labels).network == 0
    both = fit_mixture(right + torch.randn(600, 3), ngrams, labels)
    assert min(both.network, both.ngrams) > 0.3
    few = fit_mixture((right + torch.randn(600, 3))[:6], ngrams[:6], labels[:6])
    assert few.network == 0, "six texts are no evidence"
    assert fit_mixture(ngrams[:0], ngrams[:0], labels[:0]) == Mixture()


def test_a_network_alone_gets_its_temperature():
    torch.manual_seed(2)
    scores = torch.randn(3000, 4)
    labels = torch.distributions.Categorical(logits=scores).sample()
    assert fit_mixture(3 * scores, None, labels).network == pytest.approx(1 / 3, rel=0.1)
    assert from_dict(Mixture, to_dict(Mixture(0.5, 2.0))) == Mixture(0.5, 2.0)
    with pytest.raises(ConfigError, match="network: must be at least 0"):
        Mixture(-1.0)


SMALL = ["--training.batch_size=8", "--model.width=16", "--model.layers=1", "--data.tokenizer.vocab=280"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ngrams")
    for name, seed in (("train", 0), ("new", 1)):
        texts, labels = some_texts(80, seed)
        lines = [f"{('bad', 'good')[label]}\t{text}\n" for label, text in zip(labels, texts, strict=True)]
        (folder / f"{name}.tsv").write_text("".join(lines))
    words = ["--train", folder / "train.tsv", *SMALL, "--steps=4", "--training.eval_every=2"]
    assert regard("train", "classify", "--out", folder / "run", *words) == 0
    return folder / "run"


def test_a_run_ends_no_worse_than_its_n_gram_model(run: Path, capsys: pytest.CaptureFixture):
    """Four steps teach a network nothing, and on eight held-out texts it counts for nothing."""
    assert regard("evaluate", run, run.parent / "new.tsv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1
    errors = [line["valid_error"] for line in read_metrics(run) if "valid" in line]
    assert len(errors) == 2
    assert f"fewest validation errors: {min(errors):.4f}, by the weights of step" in (run / "card.md").read_text()
    loaded = load_run(run)
    assert loaded.classify(["a lovely day", "an awful plot"]) == ["good", "bad"]
    assert loaded.task.mixture.network == 0 < loaded.task.mixture.ngrams, "fitted when training ended"


def test_held_out_texts_are_learned_from_once_the_run_is_scored(run: Path):
    """The inverse document frequency of the rarest n-gram says how many texts there were."""
    [texts, _] = some_texts(80)
    model = load_run(run).extra["ngrams"]
    frequency = np.bincount(model.settings.count(texts).indices, minlength=2 << 18)[model.features.buckets]
    assert model.features.idf == pytest.approx(np.log(81 / (1 + frequency)) + 1)


def test_a_damaged_file_is_named_and_an_export_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert regard("export", run, "--to", "huggingface", "--out", tmp_path / "hf") == 2
    assert "has an n-gram model beside the network, which no Hugging Face folder holds" in capsys.readouterr().err
    content = (run / NGRAMS).read_bytes()
    (run / NGRAMS).unlink()
    with pytest.raises(UserError, match=r"ngrams.safetensors: is missing"):
        load_run(run)
    (run / NGRAMS).write_bytes(content)


def test_only_what_counts_is_asked(run: Path, monkeypatch: pytest.MonkeyPatch):
    """The network of this run has the weight 0; a weight of 0 can also be that of the n-gram model."""
    loaded, text = load_run(run), ["a lovely day"]
    by_ngrams = loaded.label_probabilities(text)[1]
    assert loaded.task.mixture.network == 0
    monkeypatch.setattr(loaded.model, "forward", None)
    assert torch.equal(loaded.label_probabilities(text)[1], by_ngrams)
    loaded = load_run(run)
    network_alone = replace(loaded, task=replace(loaded.task, mixture=Mixture(1.0, 0.0)))
    expected = network_alone.label_probabilities(text)[1]
    monkeypatch.setattr(NgramModel, "log_probabilities", None)
    assert torch.equal(network_alone.label_probabilities(text)[1], expected)
    recording = network_alone.task.record(network_alone, ViewInput(text[0]))
    assert "the weights 1 and 0" in recording.notes[-1]


def test_no_text_has_no_label(run: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    loaded = load_run(run)
    for mixture in (Mixture(), Mixture(0.0, 1.0), Mixture(1.0, 0.0)):
        mixed = replace(loaded, task=replace(loaded.task, mixture=mixture))
        assert mixed.classify([]) == []
        assert mixed.label_probabilities([])[1].shape == (0, 2)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert regard("classify", run) == 0
    assert capsys.readouterr().out == ""


def test_words_are_credited_with_what_leaving_them_out_costs(
    run: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    loaded = load_run(run)
    [one] = loaded.attribute(["a lovely  day"])
    assert one.label == "good"
    assert [word for word, _ in one.words] == ["a", "lovely", "day"]
    probabilities = loaded.label_probabilities(["a lovely  day", "a   day"])[1][:, 1]
    assert one.words[1][1] == pytest.approx(float(probabilities[0].log() - probabilities[1].log()), abs=1e-5)
    assert max(one.words, key=lambda word: word[1])[0] == "lovely"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"an awful plot\n\n")))
    assert regard("classify", run, "--words") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["label"] == "bad"
    assert max(first["words"], key=lambda word: word[1])[0] == "awful"
    assert second["words"] == []


def test_weights_are_kept_by_errors_and_by_the_loss_between_equals():
    loop = Loop.__new__(Loop)
    loop.progress = Progress()
    seen = [(0.9, 0.5), (0.4, 0.5), (0.5, 0.3), (0.3, 0.4), (0.6, 0.3), (float("nan"), 0.1)]
    assert [loop._is_better(*one) for one in seen] == [True, True, True, False, False, False]
    assert (loop.progress.best, loop.progress.best_error, loop.progress.best_error_loss) == (0.3, 0.3, 0.5)
    assert not loop._is_better(0.4, None), "a task that counts no errors goes by the loss"
