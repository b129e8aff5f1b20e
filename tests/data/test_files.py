"""Files as people have them: every layout and packing, and every way in which one can be wrong."""

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import UserError
from regard.data.text.corpus import Corpus
from regard.data.text.documents import Documents
from regard.data.text.files import Fields, read_rows
from regard.data.text.lines import read_lines
from regard.data.text.tokens import read_tokens
from regard.data.text.windows import Windows
from regard.text import BPE, Bytes, Characters

ROWS = [("a b", "1"), ('ü,"x"', "2"), ("tab? no", "3")]


def write_as(kind: str, folder: Path) -> Path:
    path = folder / f"rows{kind}"
    if kind == ".tsv":
        path.write_text("".join(f"{text}\t{label}\n" for text, label in ROWS))
    elif kind == ".csv":
        import csv

        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("label", "extra", "text"), *((label, "x", text) for text, label in ROWS)])
    elif kind == ".jsonl":
        path.write_text("\n".join(json.dumps({"text": text, "label": int(label)}) for text, label in ROWS))
    else:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"label": [label for _, label in ROWS], "text": [text for text, _ in ROWS]})
        pyarrow.parquet.write_table(table, path)
    return path


@pytest.mark.parametrize("kind", [".tsv", ".csv", ".jsonl", ".parquet"])
def test_every_layout_gives_the_same_rows(kind: str, tmp_path: Path):
    assert [row.fields for row in read_rows(write_as(kind, tmp_path), Fields(("text", "label")))] == ROWS


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("header.tsv", "label\ttext\n1\ta\n2\tb\n"),
        ("turned.tsv", "id\ttext\tlabel\n7\ta\t1\n8\tb\t2\n"),
        ("blank.tsv", "1\ta\n\n2\tb\n\n"),
        ("spreadsheet.csv", 'label;"text"\n1;a\n2;"b"\n'),
        ("lines.json", '{"label": 1, "text": "a"}\n{"label": 2, "text": "b"}\n'),
        ("lines.ndjson", '{"label": 1, "text": "a"}\n\n{"label": 2, "text": "b"}\n'),
    ],
)
def test_layouts_that_people_also_have(name: str, data: str, tmp_path: Path):
    (tmp_path / name).write_text(data)
    assert [row.fields for row in read_rows(tmp_path / name, Fields(("label", "text")))] == [("1", "a"), ("2", "b")]


def test_a_header_of_a_tsv_leads_to_every_reference(tmp_path: Path):
    (tmp_path / "x.tsv").write_text("target\tsource\ttarget 2\nt\ts\tu\n")
    assert [row.fields for row in read_rows(tmp_path / "x.tsv", Fields(("source", "target")), more=True)] == [
        ("s", "t", "u")
    ]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.tsv", "id\tkind\tmail\n7\tbad\tnever again\n"),
        ("x.csv", "id,kind,mail\n7,bad,never again\n"),
        ("excel.csv", 'id;kind;"mail"\n7;bad;"never again"\n'),
        ("x.jsonl", '{"mail": "never again", "kind": "bad", "id": 7}\n'),
        ("x.parquet", ""),
    ],
)
def test_columns_are_called_as_the_user_says(name: str, data: str, tmp_path: Path):
    (tmp_path / name).write_text(data)
    if name == "x.parquet":
        pd.DataFrame({"id": [7], "mail": ["never again"], "kind": ["bad"]}).to_parquet(tmp_path / name)
    called = Fields.named(("label", "text"), ("kind", "mail"))
    assert [row.fields for row in read_rows(tmp_path / name, called, more=True)] == [("bad", "never again")]
    with pytest.raises(
        UserError, match=r"has no (column )?'male'; did you mean 'mail'\?; set the names|header with male; "
    ):
        list(read_rows(tmp_path / name, Fields.named(("label", "text"), ("kind", "male"))))
    if name != "x.tsv":  # which may have no header
        with pytest.raises(
            UserError, match=r"has no (column )?'label'; .*; set the names of the label and text columns with --columns"
        ):
            list(read_rows(tmp_path / name, Fields.named(("label", "text"), ())))


def test_a_row_that_is_used_as_a_header_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "regard")
    (tmp_path / "x.csv").write_text("good,a fine day\nbad,never again\n")
    for _ in range(2):
        assert [row.fields for row in read_rows(tmp_path / "x.csv", Fields(("label", "text")))] == [
            ("bad", "never again")
        ]
    assert caplog.text.count("first line is used as the header, good and a fine day for label and text") == 1


def running_text(path: Path) -> list[str]:
    return [piece.text for piece in Documents((str(path),)).pieces()]


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_every_packing_is_unpacked(packing: str, tmp_path: Path):
    text = "Größe\n" * 1000
    path = tmp_path / f"text.txt{packing}"
    if packing == ".zst":
        import zstandard

        path.write_bytes(zstandard.compress(text.encode()))
    else:
        path.write_bytes({".gz": gzip, ".xz": lzma}[packing].compress(text.encode()))
    assert "".join(running_text(path)) == text
    assert len(list(read_lines(path))) == 1000
    path.rename(loud := tmp_path / f"LOUD.TXT{packing.upper()}")
    assert "".join(running_text(loud)) == text
    path.write_bytes(loud.read_bytes()[:-9])
    with pytest.raises(UserError, match=f"{path.name}: is damaged"):
        list(read_lines(path))


def test_a_byte_that_was_flipped_is_noticed(tmp_path: Path):
    data = bytearray(gzip.compress(b"some words\n" * 1000))
    data[len(data) // 2] ^= 255
    (tmp_path / "text.gz").write_bytes(data)
    with pytest.raises(UserError, match=r"text\.gz: is damaged"):
        list(read_lines(tmp_path / "text.gz"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_running_text_is_read_as_it_stands(text: str):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.txt"
        path.write_bytes(text.encode())
        assert "".join(running_text(path)) == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.txt", b"one\ntwo\n\xff\n", "line 3: is not UTF-8"),
        ("x.tsv", b"a\tb\nalone\n", "line 2: has 1 field between tabs, and should have 2: text, label"),
        ("x.csv", b"text,label\na,b,c\n", "line 2: has 3 fields, the header 2"),
        ("x.csv", b"text,tag,other\na,b,c\n", "has no column 'label'"),
        ("x.csv", b'text,label\na,b\n"open,b\nc,d\n', "line 3: a quote is opened in this row and never closed"),
        ("x.csv", b"text,label\n" + b"x" * 140_000 + b",b\n", "more than 131,072 characters"),
        (
            "x.jsonl",
            b'{"text": "a", "label": 1}\n{"text": "cut \\ud83d", "label": 1}\n',
            "line 2: has an unpaired surrogate",
        ),
        ("x.jsonl", b'{"text": "a", "label": 1}\n{"text": \n', "line 2: is not JSON"),
        ("x.jsonl", b"[1]\n", "line 1: is not a JSON object"),
        ("x.jsonl", b'{"text": "a", "lable": 1}\n', "line 1: has no 'label'; did you mean 'lable'?"),
        ("x.parquet", b"PAR1 not really", "cannot be read as Parquet"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(name: str, data: bytes, message: str, tmp_path: Path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError) as caught:
        list(
            read_lines(tmp_path / name)
            if name.endswith(".txt")
            else read_rows(tmp_path / name, Fields(("text", "label")))
        )
    assert message in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_a_misspelt_file_is_told_from_its_neighbours(tmp_path: Path):
    (tmp_path / "repairs.csv").write_text("x")
    with pytest.raises(
        UserError, match=r"repair\.csv: cannot be read \(No such file.*\); did you mean 'repairs\.csv'\?$"
    ):
        list(read_lines(tmp_path / "repair.csv"))
    (tmp_path / "repairs.parquet").write_text("x")
    with pytest.raises(UserError, match=r"did you mean 'repairs\.parquet'\?$"):
        list(read_rows(tmp_path / "repair.parquet", Fields(("text",))))
    with pytest.raises(UserError, match=r"directory\)$"):
        list(read_lines(tmp_path / "houses.csv"))


def test_missing_files_and_folders_are_named(tmp_path: Path):
    with pytest.raises(UserError, match="No such file"):
        list(read_lines(tmp_path / "nowhere.txt"))
    with pytest.raises(UserError, match="is a folder"):
        list(read_lines(tmp_path))


def encoded(corpus: Corpus, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    corpus.encode(folder)
    return corpus.read(folder)


@pytest.mark.parametrize("tokenizer", [Characters(), Bytes(), BPE(vocab=300)], ids=lambda t: type(t).__name__)
def test_a_corpus_comes_back_from_its_tokens(tokenizer, tmp_path: Path):  # type: ignore[no-untyped-def]
    text = "Wer nicht wagt, der nicht gewinnt. €\n" * 200
    (tmp_path / "a.txt").write_text(text)
    from regard.text import Tokenizer

    train, valid = encoded(Corpus(files=(str(tmp_path / "a.txt"),), tokenizer=tokenizer), tmp_path / "tokens")
    kept = Tokenizer.load(tmp_path / "tokens" / "tokenizer.json")
    assert kept.decode([[*train.tolist(), *valid.tolist()]]) == [text]
    assert len(valid) == pytest.approx(0.1 * (len(train) + len(valid)), abs=1)


def test_documents_end_with_the_end_token(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"text": "ab"}\n{"text": "c"}\n')
    Corpus(files=(str(tmp_path / "a.jsonl"),)).encode(tmp_path / "tokens")
    assert (read_tokens(tmp_path / "tokens" / "train.tokens") == 2).tolist() == [False, False, True, False, True]


def test_a_corpus_that_cannot_be_read_leaves_nothing(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"fine\n\xff")
    with pytest.raises(UserError, match="line 2"):
        Corpus(files=(str(tmp_path / "a.txt"),)).encode(tmp_path / "tokens")
    assert not (tmp_path / "tokens").exists()
    (tmp_path / "b.txt").write_text("abc")
    with pytest.raises(UserError, match="too few"):
        encoded(Corpus(files=(str(tmp_path / "b.txt"),)), tmp_path / "tokens")


@given(st.integers(2, 300), st.integers(1, 40), st.integers(1, 7))
def test_measuring_asks_for_every_token_but_the_first_just_once(count: int, length: int, batch: int):
    tokens = np.arange(count)
    asked = [
        answer for one in Windows(tokens, length, batch).once() for answer in one.answer[one.answer_valid].tolist()
    ]
    assert asked == list(range(1, count))


@given(st.integers(20, 400), st.integers(1, 10), st.integers(1, 4), st.integers(0, 30))
def test_windows_are_stretches_of_the_text_and_do_not_overlap(count: int, length: int, batch: int, epoch: int):
    windows = Windows(np.arange(count), length, batch, seed=3)
    starts = []
    for step in range(epoch * windows.steps_per_epoch, (epoch + 1) * windows.steps_per_epoch):
        one = windows.batch(step)
        assert (one.answer == one.tokens + 1).all()
        assert (one.tokens[:, 1:] == one.tokens[:, :-1] + 1).all()
        starts += one.tokens[:, 0].tolist()
    gaps = np.diff(sorted(starts))
    assert (gaps >= windows.length).all()


def test_each_epoch_cuts_at_other_places():
    windows = Windows(np.arange(1000), 50, 4)
    cuts = {int(windows.batch(epoch * windows.steps_per_epoch).tokens[0, 0]) % 50 for epoch in range(8)}
    assert len(cuts) > 3
