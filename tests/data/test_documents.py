"""Documents of files, folders, records and separated text, and how they are packed into windows."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import UserError
from regard.data.text import lines
from regard.data.text.corpus import Corpus
from regard.data.text.documents import Documents, text_files
from regard.data.text.tokens import hold_out_documents, read_tokens, write_tokens
from regard.data.text.windows import Packing, Windows
from regard.text import Bytes, Characters, Tokenizer

TOKENIZER = Bytes().train([])


def documents(*files: Path, separator: str = "") -> list[str]:
    """The documents as texts, written to tokens and read back."""
    out = files[0].parent / "tokens"
    write_tokens(Documents(tuple(map(str, files)), separator=separator).pieces(), TOKENIZER, out)
    tokens = read_tokens(out)
    parts = np.split(tokens, np.flatnonzero(tokens == TOKENIZER.end) + 1)
    return TOKENIZER.decode([part.tolist() for part in parts if len(part)])


@settings(max_examples=60)
@given(
    parts=st.lists(st.text(alphabet="ab -\n", max_size=12), max_size=8),
    separator=st.sampled_from(["--", "\n\n", "-", "\n--\n", "aab"]),
    chunk=st.integers(1, 9),
)
def test_separated_documents_are_those_between_separators(
    parts: list[str], separator: str, chunk: int, tmp_path_factory: pytest.TempPathFactory
):
    text = separator.join(parts)
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", chunk)
        patch.setattr(lines, "MAX_PIECE", 10)
        assert documents(path, separator=separator) == [part for part in text.split(separator) if part]


def test_of_several_plain_files_each_is_a_document_and_a_single_one_is_running_text(tmp_path: Path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"text {name}")
    assert documents(tmp_path / "a.txt", tmp_path / "b.txt") == ["text a", "text b"]
    write_tokens(Documents((str(tmp_path / "a.txt"),)).pieces(), TOKENIZER, tmp_path / "one")
    assert TOKENIZER.end not in read_tokens(tmp_path / "one")


def test_a_folder_stands_for_its_text_files(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "regard")
    (tmp_path / "b" / ".git").mkdir(parents=True)
    for name in ("z.py", "a.txt", "b/c.md", "b/.git/config", ".hidden.txt"):
        (tmp_path / name).write_text("x = 1")
    (tmp_path / "d.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    (tmp_path / "p.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "empty.txt").touch()
    found = [str(path.relative_to(tmp_path)) for path in text_files((str(tmp_path),))]
    assert found == ["a.txt", "b/c.md", "d.jsonl", "z.py"]
    assert "2 files that are empty or no UTF-8 text are left out: empty.txt, p.png" in caplog.text
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match="none: holds no text files"):
        text_files((str(tmp_path / "none"),))


def test_whole_documents_are_held_out_at_random(tmp_path: Path):
    texts = [f"document {number} " * (1 + number % 3) for number in range(100)]
    (tmp_path / "a.txt").write_text("|".join(texts))
    corpus = Corpus(files=(str(tmp_path / "a.txt"),), separator="|", tokenizer=Characters(), length=8)
    corpus.encode(tmp_path / "tokens")
    train, valid = corpus.read(tmp_path / "tokens")
    assert 0.08 < len(valid) / (len(train) + len(valid)) < 0.13
    tokenizer = Tokenizer.load(tmp_path / "tokens" / "tokenizer.json")
    read = [
        set(tokenizer.decode([part.tolist() for part in np.split(tokens, np.flatnonzero(tokens == tokenizer.end) + 1)]))
        for tokens in (train, valid)
    ]
    assert (read[0] | read[1]) - {""} == set(texts)
    assert not (read[0] & read[1]) - {""}
    assert set(texts[-len(read[1]) :]) != read[1], "not the last ones"


def test_few_documents_are_left_as_they_are(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one|two|three")
    write_tokens(Documents((str(tmp_path / "a.txt"),), separator="|").pieces(), TOKENIZER, tmp_path / "train")
    before = read_tokens(tmp_path / "train").tolist()
    hold_out_documents(tmp_path / "train", tmp_path / "valid", TOKENIZER.end, 0.1)
    assert read_tokens(tmp_path / "train").tolist() == before
    assert not (tmp_path / "valid").exists()


def test_an_end_token_begins_the_next_document():
    packing = Packing.of(torch.tensor([[5, 6, 2, 7, 8, 2, 2, 9], [2, 5, 5, 5, 5, 5, 5, 5]]), end=2)
    assert packing.document.tolist() == [[0, 0, 1, 1, 1, 2, 3, 3], [1] * 8]
    assert packing.index.tolist() == [[0, 1, 0, 1, 2, 0, 0, 1], [0, 1, 2, 3, 4, 5, 6, 7]]
    batch = next(Windows(np.array([5, 6, 2, 7, 8]), 4, 1, end=2).once())
    assert batch.packing is not None
    assert batch.packing.document.tolist() == [[0, 0, 1, 1]]
    assert batch.shard(0, 1).packing is not None
