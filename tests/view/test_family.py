"""A family on show: patterns are those that `listen` hears, scores are loops, long chains are cut and it says so."""

import io
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as some
from PIL import Image
from scipy.stats import spearmanr
from torch import Tensor

import regard
from regard.core.errors import ConfigError, UserError
from regard.data.alignments.formats import read_alignment
from regard.parts.taps import listen
from regard.tasks import Run, attention_maps
from regard.tasks.contacts import family_input, predict, recording
from regard.tasks.contacts.family_input import FamilyInput, read_family_input
from regard.tasks.contacts.recording import identity
from regard.tasks.input_file import InputFile
from regard.tasks.recording import Recording, ViewedFamily, ViewInput
from regard.view import session as session_module
from regard.view.open_run import OpenRun, record
from regard.view.pictures.family import (
    compared,
    follows_identity,
    on_contacts,
    residue_pattern,
    sequence_patterns,
    sharpest,
)
from regard.view.routes import make_app
from regard.view.session import Session
from tests.command import regard as command
from tests.helpers import close
from tests.proteins.make import hairpin, write_family, write_structure
from tests.view.conftest import Runs
from tests.view.test_export import kept
from tests.view.test_pictures import unpacked

HERE = "http://127.0.0.1:7417"
BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module")
def alignment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A family of 60 sequences and 34 residues, with its distances beside it."""
    return write_family(tmp_path_factory.mktemp("families"), "one")


def recorded(run: Run, path: Path, **changes: object) -> tuple[Recording, ViewedFamily]:
    result = record(run, ViewInput(family=replace(read_family_input(path, None), **changes)))
    assert result.family is not None
    return result, result.family


def without_structure(path: Path) -> FamilyInput:
    return FamilyInput(InputFile("one.a3m", path.read_bytes()))


def test_patterns_are_those_of_one_plain_call(runs: Runs, alignment: Path) -> None:
    run = regard.load(runs["family"])
    result, family = recorded(run, alignment)
    part = predict.encode_part(read_alignment(alignment), torch.arange(34))
    rows = predict.rows_read(part, 5, 0)
    assert rows[0] == 0
    assert family.sequences == tuple(f"s{row}" for row in rows.tolist())
    made = part.made
    with torch.inference_mode(), listen(run.model) as heard:
        run.model(made.letters[rows][None], made.profile[None], made.features[None])
    for name, pattern in family.rows.items():
        assert torch.equal(pattern, heard[f"{name}.attend.pattern"].transpose(0, 1)), name
        assert pattern.shape == (2, 5, 34, 34)
    for name, pattern in family.columns.items():
        assert torch.equal(pattern, heard[f"{name}.attend.pattern"].transpose(0, 1)), name
        assert pattern.shape == (2, 34, 5, 5)
    names = [f"blocks.{layer}.{axis}" for layer in (0, 1) for axis in ("columns", "rows")]
    assert [one.name for one in result.maps] == names
    close(result.maps[1].pattern, family.rows["blocks.0.rows"].mean(1))
    close(residue_pattern(result, "blocks.1.rows", 1, 3), heard["blocks.1.rows.attend.pattern"][3, 1])
    close(sequence_patterns(result, "blocks.1.columns", 0)[7], heard["blocks.1.columns.attend.pattern"][7, 0])
    close(sequence_patterns(result, "blocks.1.columns").sum(-1), torch.ones(34, 5), 1e-5)


def test_contacts_are_those_that_the_run_predicts(runs: Runs, alignment: Path) -> None:
    run = regard.load(runs["family"])
    result, family = recorded(run, alignment)
    prediction = run.predict(alignment)
    assert torch.equal(family.contact, prediction.contact)
    assert torch.equal(family.mean_field, prediction.mean_field)
    assert torch.equal(family.mutual_information, prediction.mutual_information)
    assert family.distance is not None
    close(family.distance, hairpin(), 0.05)
    first = run.contacts(alignment).iloc[0]
    label, probability = result.probabilities[0]
    assert label == f"{first.letter_i}{first.i}–{first.letter_j}{first.j}"
    assert probability == pytest.approx(first.probability, abs=1e-4)
    letters = alignment.read_text().splitlines()[1]
    assert family.residues == tuple(f"{letter}{place}" for place, letter in enumerate(letters, 1))
    assert family.letters[0] == letters


@settings(max_examples=20, deadline=None)
@given(seed=some.integers(0, 10**6), rows=some.integers(1, 5), columns=some.integers(1, 9))
def test_identity_counts_letters_where_both_have_one(seed: int, rows: int, columns: int) -> None:
    letters = torch.randint(5, (rows, columns), generator=torch.Generator().manual_seed(seed)).to(torch.uint8)
    result = identity(letters, gap=4)
    for one in range(rows):
        for other in range(rows):
            both = [(a, b) for a, b in zip(letters[one], letters[other], strict=True) if a != 4 and b != 4]
            share = sum(int(a == b) for a, b in both) / len(both) if both else 0.0
            assert result[one, other].item() == pytest.approx(share, abs=1e-6)


def test_what_stands_above_the_diagonal(runs: Runs, alignment: Path) -> None:
    _, family = recorded(regard.load(runs["family"]), alignment)
    assert family.distance is not None
    distance = family.distance.clone()
    distance[0, 20] = distance[20, 0] = torch.nan
    shown = compared(replace(family, distance=distance))
    coupled = compared(family, "mean_field")
    for i in range(34):
        for j in range(34):
            if abs(i - j) < 6:
                assert shown[i, j].isnan()
            elif i > j:
                assert shown[i, j] == coupled[i, j] == family.contact[i, j]
            elif (i, j) == (0, 20):
                assert shown[i, j].isnan()
            else:
                assert shown[i, j] == float(distance[i, j] < 8)
    upper = [(i, j) for i in range(34) for j in range(i + 6, 34)]
    values = torch.tensor([coupled[i, j] for i, j in upper])
    assert values.min() >= 0
    assert values.max() == 1
    by_score = sorted(upper, key=lambda pair: family.mean_field[pair].item())
    drawn = [coupled[pair].item() for pair in by_score]
    assert drawn == sorted(drawn), "a stronger coupling is never darker"
    bare = replace(family, distance=None)
    assert torch.equal(compared(bare).nan_to_num(-1), coupled.nan_to_num(-1))
    with pytest.raises(ConfigError, match="structure: cannot stand above the diagonal"):
        compared(bare, "structure")


def ratio(pattern: Tensor, family: ViewedFamily, touching: set[tuple[int, int]]) -> float:
    """Mean weight on pairs that touch over that on the others, one pair at a time."""
    sums = {True: [0.0, 0], False: [0.0, 0]}
    for i in range(34):
        for j in range(34):
            if abs(i - j) >= 6:
                entry = sums[(min(i, j), max(i, j)) in touching]
                entry[0] += pattern[i, j].item()
                entry[1] += 1
    return (sums[True][0] / sums[True][1]) / (sums[False][0] / sums[False][1])


def test_weight_on_contacts_against_loops(runs: Runs, alignment: Path) -> None:
    run = regard.load(runs["family"])
    result, family = recorded(run, alignment)
    assert family.distance is not None
    far = [(i, j) for i in range(34) for j in range(i + 6, 34)]
    touching = {pair for pair in far if family.distance[pair] < 8}
    probable = set(sorted(far, key=lambda pair: -family.contact[pair].item())[:34])
    bare = record(run, ViewInput(family=without_structure(alignment)))
    for one, pairs in ((result, touching), (bare, probable)):
        ratios = on_contacts(one)
        assert set(ratios) == {"blocks.0.rows", "blocks.1.rows"}
        for name, heads in ratios.items():
            expected = [ratio(head.mean(0), family, pairs) for head in family.rows[name]]
            assert heads == pytest.approx(expected, rel=1e-4)


def test_whether_attention_follows_identity_is_the_correlation_of_scipy(runs: Runs, alignment: Path) -> None:
    result, family = recorded(regard.load(runs["family"]), alignment)
    different = [(i, j) for i in range(5) for j in range(5) if i != j]
    alike = [family.identity[pair].item() for pair in different]
    for name, heads in follows_identity(result).items():
        for head, value in enumerate(heads):
            mean = sum(family.columns[name][head]) / 34
            weights = [mean[pair].item() for pair in different]
            assert value == pytest.approx(spearmanr(weights, alike).statistic, abs=1e-3)
            assert sharpest(result)[name][head] == pytest.approx(5 * max(weights), rel=1e-4)
    own = {name: family.identity.expand(2, 34, 5, 5) for name in family.columns}
    following = replace(result, family=replace(family, columns=own))
    assert follows_identity(following)["blocks.0.columns"] == pytest.approx([1.0, 1.0])
    two = InputFile("two.a3m", b">a\nMKVLAWRRRKKLDDE\n>b\nMKILAWRRRKRLDEE\n")
    pair = record(regard.load(runs["family"]), ViewInput(family=FamilyInput(two)))
    assert follows_identity(pair) == {}, "one pair has no correlation"
    assert pair.family is not None
    assert pair.family.identity[0, 1].item() == pytest.approx(12 / 15)
    assert pair.notes == ("it has 2 sequences; with fewer than 64, few contacts are reliable",)


def test_a_long_chain_is_cut_and_it_says_where(runs: Runs, alignment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = regard.load(runs["family"])
    monkeypatch.setattr(predict, "MAX_LENGTH", 20)
    monkeypatch.setattr(recording, "MAX_SEQUENCES", 40)
    for first, start in ((1, 0), (11, 10), (30, 14), (10**9, 14), (-5, 0)):
        result, family = recorded(run, alignment, first=first)
        assert (family.first, family.length, len(family.residues)) == (start + 1, 34, 20)
        assert family.residues[0][1:] == str(start + 1)
        assert family.distance is not None
        close(family.distance, hairpin()[start : start + 20, start : start + 20], 0.05)
        assert family.contact.shape == (20, 20)
        assert all(pattern.shape[-1] == 20 for pattern in family.rows.values())
        assert any(f"residues {start + 1} to {start + 20} of 34 are shown" in note for note in result.notes)
        assert any("40 of its 60 sequences are used" in note for note in result.notes)
        assert "4 readings of 5 sequences each" in family.reading
        assert "statistics of all 40" in family.reading


def test_patterns_that_do_not_fit_cut_the_chain(runs: Runs, alignment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = regard.load(runs["family"])
    monkeypatch.setattr(attention_maps, "MAX_BYTES", 4 * 2 * 2 * (5 * 15**2 + 15 * 5**2))  # of 15 residues
    result, family = recorded(run, alignment)
    assert len(family.residues) == 15
    assert result.bytes <= 2 * attention_maps.MAX_BYTES
    monkeypatch.setattr(attention_maps, "MAX_BYTES", 100)
    with pytest.raises(UserError, match="reads 5 sequences at once, whose patterns do not fit in memory"):
        recorded(run, alignment)


def test_attention_along_rows_alone(runs: Runs, alignment: Path) -> None:
    result, family = recorded(regard.load(runs["family-rows"]), alignment)
    assert family.columns == {}
    assert follows_identity(result) == {}
    assert [one.name for one in result.maps] == ["blocks.0.rows"]
    for wrong, message in (
        (("blocks.0.columns",), "blocks.0.columns: no attention between sequences; there is none"),
        (("blocks.0.rows",), "no attention between sequences"),
    ):
        with pytest.raises(ConfigError, match=message):
            sequence_patterns(result, *wrong)
    with pytest.raises(ConfigError, match=r"head 4: blocks\.0\.rows has 4 heads"):
        residue_pattern(result, "blocks.0.rows", 4)
    with pytest.raises(ConfigError, match="sequence 4: 4 are read"):
        residue_pattern(result, "blocks.0.rows", 0, 4)


def test_from_files_to_every_picture(runs: Runs, alignment: Path) -> None:
    session = Session([OpenRun(runs["family"]), OpenRun(runs["gpt"])])
    web = TestClient(make_app(session), base_url=HERE)
    assert [run["kind"] for run in web.get("/api/runs").json()["runs"]] == ["family", "text"]
    sent = web.post("/api/files/alignment", params={"name": "one.a3m"}, content=alignment.read_bytes(), headers=BYTES)
    assert sent.json()["name"] == "one.a3m"
    structure = alignment.with_name("one.npz").read_bytes()
    other = web.post("/api/files/structure", params={"name": "one.npz"}, content=structure, headers=BYTES)
    files = {"alignment": sent.json()["alignment"], "structure": other.json()["structure"]}
    answer = web.post("/api/runs/0/record", json=files).json()
    assert answer["name"] == "one.a3m"
    assert answer["input"] == {"text": "", "target": None, "row": None, "first": 1, **files}
    own, family = recorded(regard.load(runs["family"]), alignment)
    assert answer["answer"] == own.answer
    start = f"/api/recordings/{answer['id']}"
    shown = web.get(f"{start}/family").json()
    assert torch.equal(unpacked(shown["contact"]), family.contact)
    assert shown["above"][0] == ["structure", "structure"]
    assert torch.equal(unpacked(shown["compared"]["structure"]).nan_to_num(-1), compared(family).nan_to_num(-1))
    asked = {"attention": "blocks.1.rows", "head": 1, "sequence": 2}
    close(unpacked(web.get(f"{start}/residues", params=asked).json()["weights"]), family.rows["blocks.1.rows"][1, 2])
    asked = {"attention": "blocks.1.columns"}
    weights = unpacked(web.get(f"{start}/sequences", params=asked).json()["weights"])
    close(weights.view(34, 5, 5), family.columns["blocks.1.columns"].mean(0))
    for path, words in (
        ("residues?attention=blocks.9.rows", "blocks.9.rows: no attention between residues"),
        ("sequences?attention=blocks.1.columns&head=5", "head 5: blocks.1.columns has 2 heads"),
        ("residues?attention=blocks.1.rows&sequence=-1", "sequence -1: 5 are read"),
    ):
        refused = web.get(f"{start}/{path}")
        assert refused.status_code == 400
        assert words in refused.json()["error"]
    assert web.post("/api/runs/1/record", json=files).status_code == 200  # a text run reads its empty text


def npz(header: bytes) -> bytes:
    """An array of a few bytes, whatever its header claims."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("distance.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"1234")
    return data.getvalue()


HUGE = npz(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }  \n")
SHORT = npz(b"{'descr': '<f4', 'fortran_order': False, 'shape': (34, 34), }  \n")
OBJECTS = npz(b"{'descr': '|O', 'fortran_order': False, 'shape': (34, 34), }  \n")
BAD = {
    "huge.npz": (HUGE, "distance is 1000000×1000000, and one.a3m has 34 residues"),
    "short.npz": (SHORT, "holds no array `distance`"),
    "objects.npz": (OBJECTS, "holds no array `distance`"),
    "text.npz": (b"no archive", "holds no array `distance`"),
    "text.pdb": (b"no structure", "has no protein residues with coordinates"),
    "empty.cif": (b"", "is not a structure in PDB or mmCIF format"),
    "cut.pdb.gz": (b"\x1f\x8b\x08\x00", "is damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_structures_are_named_in_one_line(runs: Runs, alignment: Path, name: str) -> None:
    data, message = BAD[name]
    session = Session([OpenRun(runs["family"])])
    web = TestClient(make_app(session), base_url=HERE)
    session.keep_file("alignment", without_structure(alignment).alignment)
    kept_file = web.post("/api/files/structure", params={"name": name}, content=data, headers=BYTES).json()
    files = {"alignment": without_structure(alignment).alignment.digest, "structure": kept_file["structure"]}
    answer = web.post("/api/runs/0/record", json=files)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f"{name}: ")
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the alignment: is empty"),
        (b">a\nMKV\n", "the alignment: has 1 sequence"),
        (b">a\nMKVLAW\n>b\nMKV\n", "sequence 'b' has 3 columns, the first 6"),
        (b">a\nMKVLAW\n>b\nMK1LAW\n", "sequence 'b' has '1' in column 3"),
        (bytes(range(256)), "is no text"),
    ],
)
def test_bad_alignments_are_refused_before_anything_is_kept(runs: Runs, data: bytes, message: str) -> None:
    session = Session([OpenRun(runs["family"])])
    web = TestClient(make_app(session), base_url=HERE)
    answer = web.post("/api/files/alignment", content=data, headers=BYTES)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert not session._files


def test_the_page_names_no_files_of_the_server(runs: Runs, alignment: Path) -> None:
    session = Session([OpenRun(runs["family"])])
    web = TestClient(make_app(session), base_url=HERE)
    for name in (str(alignment), "../one.a3m", "/etc/passwd"):
        answer = web.post("/api/runs/0/record", json={"alignment": name})
        assert answer.status_code == 400
        assert "no longer in memory; choose the file again" in answer.json()["error"]
        sent = web.post("/api/files/alignment", params={"name": name}, content=b">a\n", headers=BYTES)
        assert sent.status_code == 400, "what was sent counts, not the file of that name"
    known = web.post("/api/files/secret", content=b"a", headers=BYTES)
    assert "secret: no such kind of file" in known.json()["error"]
    plain = web.post("/api/files/alignment", content=b"a", headers={"content-type": "text/plain"})
    assert plain.status_code == 415
    foreign = {**BYTES, "origin": "http://evil.example"}
    assert web.post("/api/files/alignment", content=b"a", headers=foreign).status_code == 403
    large = {**BYTES, "content-length": str(10**9)}
    assert web.post("/api/files/structure", content=b"", headers=large).status_code == 413
    assert "reads alignments, and was given none" in web.post("/api/runs/0/record", json={"text": "a"}).json()["error"]


def test_files_leave_when_memory_is_short(runs: Runs, alignment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session([OpenRun(runs["family"])])
    family = read_family_input(alignment, None)
    session.keep_input(ViewInput(family=family))
    assert family.structure is not None
    assert session.find_family(family.alignment.digest, family.structure.digest, 1) == family
    monkeypatch.setattr(session_module, "FILE_BYTES", 10)
    session.keep_file("structure", InputFile("a.npz", b"12345678901"))
    with pytest.raises(UserError, match=f"alignment {family.alignment.digest}: no longer in memory"):
        session.find_family(family.alignment.digest, None, 1)
    monkeypatch.setattr(family_input, "MAX_BYTES", 100)
    with pytest.raises(UserError, match="larger than 100 bytes"):
        session.upload("alignment", "one.a3m", alignment.read_bytes())


def test_the_command_takes_the_shipped_weights_and_writes_one_file(alignment: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.html"
    assert command("view", "contacts", "--input", alignment, "--export", out) == 0
    held = kept(out.read_text(encoding="utf-8"))
    [run] = held["api/runs"]["runs"]
    assert (run["label"], run["name"], run["kind"]) == ("contacts (shipped)", "contacts (shipped)", "family")
    assert held["api/runs/0/record"]["input"]["structure"] is not None, "the one beside the alignment"
    for path in (
        "family",
        "overview",
        "residues?attention=blocks.3.rows",
        "residues?attention=blocks.0.rows&head=3",
        "sequences?attention=blocks.3.columns",
        "head?attention=blocks.3.columns&head=0",
    ):
        assert f"api/recordings/0/{path}" in held


def test_a_folder_with_the_name_of_the_shipped_weights_comes_first(
    runs: Runs, alignment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contacts").mkdir()
    assert command("view", "contacts", "--input", alignment, "--export", "a.html") == 1
    assert "contacts: not a run folder" in capsys.readouterr().err
    (tmp_path / "contacts").rmdir()
    (tmp_path / "contacts").symlink_to(runs["family"])
    assert command("view", "contacts", "--input", alignment, "--export", "a.html") == 0
    assert kept((tmp_path / "a.html").read_text())["api/runs"]["runs"][0]["label"] == "contacts"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--picture", "residues"),
        ("--picture", "residues", "--attention", "blocks.0.rows", "--head", "1"),
        ("--picture", "sequences"),
        ("--picture", "head", "--attention", "blocks.1.columns"),
        ("--picture", "overview"),
    ],
)
def test_plots_of_a_family(runs: Runs, alignment: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    write_structure(tmp_path / "x.pdb", alignment)
    for out in ("a.png", "a.svg", "b.svg"):
        given_files = ("--input", alignment, "--structure", tmp_path / "x.pdb")
        assert command("plot", runs["family"], *given_files, *words, "--out", tmp_path / out) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        assert len(image.convert("RGB").getcolors(2**24)) > 20


def test_two_runs_have_their_contacts_side_by_side(runs: Runs, alignment: Path, tmp_path: Path) -> None:
    both = runs["family"], runs["family-rows"]
    assert command("plot", *both, "--input", alignment, "--out", tmp_path / "a.png") == 0
    with Image.open(tmp_path / "a.png") as image:
        assert image.width > 1.5 * image.height


@pytest.mark.parametrize(
    ("verb", "words", "message"),
    [
        ("view", ("family", "--input", "nowhere.a3m"), "nowhere.a3m: cannot be read (No such file or directory)"),
        ("view", ("family", "--input", "a.a3m", "--target", "b"), "--target: only for texts"),
        ("view", ("family", "--structure", "a.pdb"), "--structure: needs the --input"),
        ("view", ("gpt", "--input", "a", "--structure", "a.pdb"), "--structure a.pdb: only for models of contacts"),
        ("view", ("family", "--input", "a.a3m", "--structure", "b.pdb"), "b.pdb: cannot be read"),
        ("plot", ("gpt", "--input", "a", "--picture", "contacts", "--out", "a.png"), "has no alignment"),
        ("plot", ("family", "--input", "a.a3m", "--picture", "alignment", "--out", "a.png"), "no alignment"),
        ("plot", ("family-rows", "--input", "a.a3m", "--picture", "sequences", "--out", "a.png"), "between sequences"),
    ],
)
def test_mistakes_of_the_command_are_one_line(
    runs: Runs, alignment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, verb: str,
    words: tuple[str, ...], message: str,
) -> None:  # fmt: skip
    run = runs[words[0]]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.a3m").write_bytes(alignment.read_bytes())
    capsys.readouterr()
    assert command(verb, run, *words[1:]) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.a3m"]


def test_distances_that_the_structure_lacks_are_unknown(runs: Runs, alignment: Path, tmp_path: Path) -> None:
    distance = hairpin().numpy().copy()
    distance[:, 3] = distance[3] = np.nan
    (tmp_path / "one.a3m").write_bytes(alignment.read_bytes())
    np.savez(tmp_path / "one.npz", distance=distance)
    result, family = recorded(regard.load(runs["family"]), tmp_path / "one.a3m")
    shown = compared(family)
    assert shown[3, 9:].isnan().all()
    assert not shown[9:, 3].isnan().any(), "predicted all the same"
    assert all(np.isfinite(value) for heads in on_contacts(result).values() for value in heads)
