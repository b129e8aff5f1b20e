"""Contacts end to end: a tiny run, its answers, its verbs, and families of any size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import regard as library
from regard.core.errors import UserError
from regard.data.alignments.batches import EDGES, IGNORED, FamilyBatches, distance_bins
from regard.data.alignments.examples import AlignmentFamilies, Examples
from regard.data.alignments.families import read_families
from regard.models import Evoformer
from regard.store import read_metrics
from regard.tasks.contacts import predict as prediction
from regard.tasks.contacts.predict import predict, stretches
from regard.tasks.contacts.scores import precision
from tests.command import regard
from tests.proteins.make import family, hairpin, write_families
from tests.proteins.test_files import write_pdb

SMALL = (
    "--model.width=8", "--model.pair-width=8", "--model.layers=1", "--model.heads=2", "--model.window=3",
    "--data.crop=20", "--data.sequences=4", "--training.batch_size=2", "--data.copies=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contacts")
    data = write_families(folder / "families")
    words = ("pretrain", "contacts", "--data", data, "--valid", data / "one.a3m", "--out", folder / "run", "--steps=2")
    assert regard(*words, *SMALL) == 0
    return folder / "run"


def test_a_run_is_trained_and_scored_beside_the_classical_methods(run: Path):
    last = read_metrics(run)[-1]
    assert {"regard, top L/5", "mean-field DCA, top L", "MI + APC, top L/2"} <= last.keys()
    families = run.parent / "families"
    scores = library.evaluate(library.load(run), [str(families / "one.a3m"), str(families / "three.a3m")])
    assert scores["families"] == 2
    assert scores["mean-field DCA, top L"] == pytest.approx(last["mean-field DCA, top L"])
    assert "RNA regard, top L/5" in scores


def test_contacts_are_written_with_what_they_are_compared_with(run: Path, tmp_path: Path, capsys):
    family_file, out, plot = run.parent / "families" / "one.a3m", tmp_path / "contacts.csv", tmp_path / "map.png"
    structure = run.parent / "families" / "one.npz"
    words = ("contacts", family_file, "--weights", run, "--out", out, "--plot", plot)
    assert regard(*words, "--structure", structure, "--compare") == 0
    table = pd.read_csv(out)
    assert len(table) == 28 * 29 // 2  # j - i >= 6
    assert table["probability"].is_monotonic_decreasing
    assert {"mutual_information", "mean_field", "distance"} <= set(table)
    first = table.iloc[0]
    assert first["distance"] == pytest.approx(hairpin()[first["i"] - 1, first["j"] - 1].item(), abs=0.05)
    query = library.load(run).task and (run.parent / "families" / "one.a3m").read_text().splitlines()[1]
    assert first["letter_i"] == query[first["i"] - 1]
    assert plot.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "mean-field DCA" in printed
    assert "top L/5" in printed
    assert regard("contacts", family_file, "--weights", run) == 0
    assert "probability" in capsys.readouterr().out
    answers = library.load(run)([family_file])
    assert answers[0][0][2] == pytest.approx(first["probability"])


def test_variants_score_every_single_mutation(run: Path, tmp_path: Path):
    out = tmp_path / "variants.csv"
    assert regard("variants", run.parent / "families" / "one.a3m", "--weights", run, "--out", out) == 0
    table = pd.read_csv(out)
    assert len(table) == 34 * 19
    assert table["score"].notna().all()
    assert (table["from"] != table["to"]).all()


def test_bad_input_is_one_line_and_writes_nothing(run: Path, tmp_path: Path, capsys):
    bad = tmp_path / "bad.a3m"
    bad.write_text(">a\nMKVLAW\n>b\nMKV\n")
    good = run.parent / "families" / "one.a3m"
    write_pdb(tmp_path / "other.pdb")
    short = tmp_path / "short.a3m"
    short.write_text(">a\nMKVLAW\n>b\nMKVLAW\n")
    for words in (
        ("contacts", short, "--weights", run),
        ("contacts", good, "--weights", run, "--structure", tmp_path / "none.pdb"),
        ("contacts", bad, "--weights", run, "--out", tmp_path / "a.csv"),
        ("contacts", good, "--weights", run, "--out", tmp_path / "a.nothing"),
        ("contacts", good, "--weights", run, "--out", tmp_path / "a.csv", "--plot", tmp_path / "a.txt"),
        ("contacts", good, "--weights", run, "--out", tmp_path / "a.csv", "--structure", tmp_path / "other.pdb"),
        ("contacts", good, "--weights", tmp_path, "--out", tmp_path / "a.csv"),
        ("variants", tmp_path / "none.a3m", "--weights", run),
        ("pretrain", "contacts", "--data", bad, "--out", tmp_path / "run"),
    ):
        capsys.readouterr()
        assert regard(*words) in (1, 2), words
        assert len(capsys.readouterr().err.splitlines()) == 1, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.a3m", "other.pdb", "short.a3m"]


def test_a_resumed_run_is_the_same_as_one_that_was_never_stopped(run: Path, tmp_path: Path):
    data = run.parent / "families" / "two.a3m"
    words = ("pretrain", "contacts", "--data", data, "--training.schedule", "Constant", *SMALL)
    assert regard(*words, "--out", tmp_path / "a", "--steps=4") == 0
    assert regard(*words, "--out", tmp_path / "b", "--steps=2") == 0
    assert regard(*words, "--out", tmp_path / "b", "--steps=4", "--resume") == 0
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in "ab")
    assert one == other


def test_every_pair_of_a_long_chain_is_read_together():
    seen = torch.zeros(50, 50, dtype=torch.bool)
    for index in stretches(50, max_length=16):
        assert len(index) <= 16
        seen[index[:, None], index] = True
    assert seen.all()
    assert [len(index) for index in stretches(16, max_length=16)] == [16]


def test_long_and_deep_alignments_are_read_in_parts_and_it_says_so(monkeypatch: pytest.MonkeyPatch, notes: list[str]):
    monkeypatch.setattr(prediction, "MAX_LENGTH", 20)
    monkeypatch.setattr(prediction, "MAX_SEQUENCES", 40)
    monkeypatch.setattr(prediction.stretches, "__defaults__", (20,))
    model = Evoformer(width=8, pair_width=8, layers=1, heads=2, window=3).build()
    result = predict(model, family(), sequences=4, letters=True)
    assert result.contact.isfinite().all()
    assert result.log_letters is not None
    torch.testing.assert_close(result.log_letters.exp().sum(-1), torch.ones(34))
    assert any("40 of its 60 sequences are used" in note for note in notes)
    assert any("34 residues are read 20 at a time" in note for note in notes)


@torch.no_grad()
def test_predictions_do_not_depend_on_the_order_of_the_file():
    """All sequences are read, so that no sample depends on the order either."""
    model = Evoformer(width=8, pair_width=8, layers=2, heads=2, window=3).build()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    alignment = family(sequences=12)
    order = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(11)])
    turned = replace(alignment, letters=alignment.letters[order])
    one, other = (predict(model, each, sequences=12, letters=True) for each in (alignment, turned))
    assert one.contact.std() > 0.01, "the network tells pairs apart"
    torch.testing.assert_close(other.contact, one.contact, atol=1e-4, rtol=0)
    torch.testing.assert_close(other.mean_field, one.mean_field, atol=1e-4, rtol=0)
    torch.testing.assert_close(other.log_letters, one.log_letters, atol=1e-4, rtol=0)


def test_precision_counts_the_best_pairs():
    distance, score = torch.full((40, 40), 20.0), torch.zeros(40, 40)
    for place, (i, j) in enumerate([(0, 30), (1, 30), (2, 30), (3, 30), (4, 35), (5, 36), (6, 37), (7, 38)]):
        score[i, j] = 10 - place
        distance[i, j] = 5.0 if place % 2 == 0 else 9.0
    score[0, 5] = 100  # too near in the chain to count
    alphabet = family().alphabet
    assert precision(score, distance, alphabet)["L/5"] == pytest.approx(0.5)
    distance[0, 30] = torch.nan
    assert precision(score, distance, alphabet)["L/5"] == pytest.approx(3 / 8)
    assert precision(score[:20, :20], distance[:20, :20], alphabet) == {}


def test_bins_hold_each_pair_once_and_no_unknown_one():
    distance = torch.tensor(np.arange(49).reshape(7, 7), dtype=torch.float)
    distance[0, 6] = torch.nan
    bins = distance_bins(distance, 4)
    counted = bins != IGNORED
    assert counted.nonzero().tolist() == [[0, 4], [0, 5], [1, 5], [1, 6], [2, 6]]
    assert bins[0, 4] == 0
    assert bins[1, 5] == sum(edge <= 12 for edge in EDGES)


def test_a_batch_is_a_function_of_its_step(run: Path):
    families = read_families([str(run.parent / "families")])
    data = AlignmentFamilies(train=("x",), crop=12, sequences=4, copies=1)
    one, again = (FamilyBatches(Examples(families, data), 3, seed=1).batch(7) for _ in range(2))
    for crop, other in zip(one.crops, again.crops, strict=True):
        assert all(np.array_equal(getattr(crop, name), getattr(other, name)) for name in vars(crop))
    assert one.shard(1, 2).rows == 1
    rna = FamilyBatches(Examples(families, replace(data, rna=1.0)), 4).batch(0)
    assert all((crop.letters >= 20).all() for crop in rna.crops), "nucleotides, gaps and masks"


def test_without_shipped_weights_it_says_how_to_make_some(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from regard.tasks.contacts import shipped

    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    with pytest.raises(UserError, match="regard pretrain contacts"):
        shipped.contact_run()
