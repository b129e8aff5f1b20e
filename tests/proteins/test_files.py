"""Alignments and structures as biologists have them, and what is wrong with them in one line."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import UserError
from regard.data.alignments.alignment import encode
from regard.data.alignments.families import read_families, read_family
from regard.data.alignments.formats import read_alignment
from regard.data.alignments.structures import align, distances_for, read_chains
from tests.proteins.make import atom, rows_of, write_families

ROWS = ["MKVLAW", "MR-LAW", "MKI--W"]
FASTA = ">a first\nMKV\nLAW\n>b\nMR-LAW\n>c\nMKI--W\n"
A3M = ">a\nMKVLAW\n>b\nMR-LggAW\n>c\nMKI--W\n"
STOCKHOLM = "# STOCKHOLM 1.0\n#=GF ID x\na MKV\nb MR-\nc MKI\n\na LAW\nb LAW\nc --W\n#=GC SS HHH\n//\n"
CLUSTAL = "CLUSTAL W (1.83)\n\na  MKV 3\nb  MR- 2\nc  MKI 3\n   *  \n\na  LAW 6\nb  LAW 5\nc  --W 4\n"
PLAIN = "MKVLAW\nMR-LAW\nMKI--W\n"


@pytest.mark.parametrize("text", [FASTA, A3M, STOCKHOLM, CLUSTAL, PLAIN], ids=["fasta", "a3m", "sto", "clustal", "aln"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_says_the_same(text: str, packed: bool, tmp_path: Path):
    path = tmp_path / ("family.gz" if packed else "family")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    alignment = read_alignment(path)
    assert rows_of(alignment) == ROWS
    assert alignment.query == "MKVLAW"
    assert alignment.alphabet.molecule == "protein"


def test_columns_are_those_of_the_first_sequence():
    alignment = encode("x", [("a", "M-KVL.A"), ("b", "MWKV-XA")])
    assert rows_of(alignment) == ["MKVLA", "MKV-A"]


def test_the_end_of_a_translated_gene_is_no_residue():
    alignment = encode("x", [("a", "MKVLA*"), ("b", "MKV*--"), ("c", "MKVLAW")])
    assert rows_of(alignment) == ["MKVLA", "MKV--", "MKVLA"]


def test_sequences_keep_their_names():
    alignment = encode("x", [(f"s{number}", "MKVLA") for number in range(9)])
    assert alignment.label(3) == "s3"
    some = replace(alignment, letters=torch.arange(9, dtype=torch.uint8)[:, None].expand(9, 5)).sample(4, "seed")
    assert [some.label(place) for place in range(4)] == [f"s{number}" for number in some.letters[:, 0].tolist()]
    assert some.label(0) == "s0"
    assert replace(alignment, labels=()).label(3) == "sequence 4"


def test_rna_is_known_by_its_letters_and_dna_is_read_as_rna():
    alignment = encode("x", [("a", "GGCAUUACN-"[:8]), ("b", "GGCATT-C")])
    assert alignment.alphabet.molecule == "rna"
    assert rows_of(alignment) == ["GGCAUUAC", "GGCAUU-C"]
    assert encode("x", [("a", "GGCATTAC"), ("b", "GGCATT-C")], "protein").alphabet.molecule == "protein"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (">a\nMKV\n", "has 1 sequence;"),
        (">a\nMKVLAW\n>b\nMKV\n", "sequence 'b' has 3 columns, the first 6"),
        (">a\nMKVLAW\n>b\nMK1LAW\n", "sequence 'b' has '1' in column 3, which is no letter of protein"),
        (">a\nMKXLAW\n>b\nMKVLAW\n", "residue 3 of the first sequence is 'X'"),
        (">a\n--M-\n>b\nMKVL\n", "the first sequence has 1 residue;"),
        ("{\"a\": 1}\n", "line 1: '{\"a\": 1}' is no aligned sequence"),
        (">a\nM-KVLAW\n>b\nMRK?LAW\n", "has '?' in column 4"),
        ("\0\1\2", "is no text"),
        ("# STOCKHOLM 1.0\nonly\n//\n", "'only' is not a name and its letters"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_that_names_the_file(text: str, message: str, tmp_path: Path):
    path = tmp_path / "bad.a3m"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_alignment(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    path = tmp_path_factory.mktemp("bytes") / "file.a3m"
    path.write_bytes(content)
    message = ""
    try:
        assert read_alignment(path).sequences > 1
    except UserError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


def test_families_have_their_structure_beside_them(tmp_path: Path):
    folder = write_families(tmp_path / "families")
    families = read_families([str(folder)])
    assert [one.alignment.alphabet.molecule for one in families] == ["protein", "rna", "protein"]
    (folder / "one.npz").unlink()
    with pytest.raises(UserError, match=r"put one.pdb or one.cif"):
        read_family(folder / "one.a3m")
    np.savez(folder / "one.npz", distance=np.zeros((3, 3)))
    with pytest.raises(UserError, match=r"distance is 3×3"):
        read_family(folder / "one.a3m")
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match="has no alignments"):
        read_families([str(tmp_path / "none")])


def write_pdb(path: Path) -> None:
    """Five residues in a row, each 4 Å from the next: M K G L A, of which glycine has no C-beta."""
    lines = []
    for place, residue in enumerate(("MET", "LYS", "GLY", "LEU", "ALA")):
        lines.append(atom(2 * place, " CA ", residue, place + 1, (4.0 * place, 0, 0)))
        if residue != "GLY":
            lines.append(atom(2 * place + 1, " CB ", residue, place + 1, (4.0 * place, 1.5, 0)))
    path.write_text("".join(lines) + "END\n")


def test_distances_of_a_structure(tmp_path: Path):
    """A column that the structure lacks is unknown; the chain may have more residues than the alignment."""
    write_pdb(tmp_path / "x.pdb")
    alignment = encode("x", [("a", "KGWLA"), ("b", "KGWL-")])
    distance = distances_for(alignment, tmp_path / "x.pdb")
    assert distance[0, 3].item() == pytest.approx(8.0)
    assert distance[0, 1].item() == pytest.approx((16 + 1.5**2) ** 0.5)
    assert distance[2].isnan().all()
    other = encode("y", [("a", "WWWHHWW"), ("b", "WWWHHWW")])
    with pytest.raises(UserError, match="is it another protein"):
        distances_for(other, tmp_path / "x.pdb")
    (tmp_path / "bad.cif").write_text("data_x\nloop_\n_a.b\n'open\n")
    with pytest.raises(UserError, match=r"bad.cif: "):
        read_chains(tmp_path / "bad.cif", alignment.alphabet)
    with pytest.raises(UserError, match="has no rna residues"):
        distances_for(encode("z", [("a", "GGCAUU"), ("b", "GGCAUU")]), tmp_path / "x.pdb")


def test_pdb_and_mmcif_agree(tmp_path: Path):
    gemmi = pytest.importorskip("gemmi")
    write_pdb(tmp_path / "x.pdb")
    gemmi.read_structure(str(tmp_path / "x.pdb")).make_mmcif_document().write_file(str(tmp_path / "x.cif"))
    alignment = encode("x", [("a", "MKGLA"), ("b", "MKGL-")])
    one, other = (distances_for(alignment, tmp_path / name) for name in ("x.pdb", "x.cif"))
    assert torch.equal(one, other)


def test_alignment_of_two_sequences():
    assert align("KGWLA", "MKGLAP") == [(0, 1), (1, 2), (3, 3), (4, 4)]
